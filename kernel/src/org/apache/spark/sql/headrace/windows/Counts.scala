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
final class Counts(adders: Map[String, LongAccumulator]) extends Serializable {
  def add(name: String, n: Long): Unit = if (n != 0) adders(name).add(n)

  /** The counts so far, by name. */
  def values: java.util.Map[String, java.lang.Long] =
    adders.map { case (name, adder) => name -> adder.value }.asJava
}

object Counts {
  /** rows in; rows folded into a window or sent to late; row-window pairs; how those ended. */
  val Names: Seq[String] = Seq(
    "rows", "folded", "late", "placed", "settled", "lost", "missed", "pending", "windows", "expired", "panes",
    "retractions")

  /** Counts that a running query adds up, read on the driver. */
  def registered(context: SparkContext): Counts =
    new Counts(Names.map(name => name -> context.longAccumulator(s"headrace.windows.$name")).toMap)

  /** Counts of this process only. */
  def local(): Counts = new Counts(Names.map(_ -> new LongAccumulator).toMap)
}
