/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.windows

import org.apache.spark.SparkContext
import org.apache.spark.util.LongAccumulator

import scala.jdk.CollectionConverters._

/**
 * Where every row went. `rows = folded + late`; a row folded into several windows is `placed` in each, and
 * `placed = settled + lost + what is in open windows`.
 */
final class Counts(adders: Array[LongAccumulator]) extends Serializable {
  def add(which: Int, n: Long): Unit = if (n != 0) adders(which).add(n)

  /** The counts so far, by name. */
  def values: java.util.Map[String, java.lang.Long] =
    Counts.Names.zip(adders).map { case (name, adder) => name -> (adder.value: java.lang.Long) }.toMap.asJava
}

object Counts {
  val Rows = 0
  val Folded = 1
  val Late = 2
  val Pending = 3
  val Placed = 4
  val Settled = 5
  val Lost = 6
  val Missed = 7
  val Windows = 8
  val Expired = 9
  val Panes = 10
  val Retractions = 11

  /** In the order of their numbers: rows in and where they went; row-window pairs and how they ended; windows; panes. */
  val Names: Seq[String] = Seq(
    "rows", "folded", "late", "pending", "placed", "settled", "lost", "missed", "windows", "expired", "panes", "retractions")

  /** Counts that a running query adds up, read on the driver. */
  def registered(context: SparkContext): Counts =
    new Counts(Names.map(name => context.longAccumulator(s"headrace.windows.$name")).toArray)

  /** Counts of this process only. */
  def local(): Counts = new Counts(Array.fill(Names.size)(new LongAccumulator))
}
