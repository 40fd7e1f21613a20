/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.patterns

import org.apache.spark.sql.{Dataset, Encoders, Row}
import org.apache.spark.sql.catalyst.CatalystTypeConverters.createToScalaConverter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState
import org.apache.spark.sql.classic
import org.apache.spark.sql.headrace.windows.Held
import org.apache.spark.sql.types._

import scala.jdk.CollectionConverters._

/** The state of a step with a pattern as rows that people can read: partial matches, and rows that wait. */
final class MatchView(step: MatchStep) {
  /** Partial matches, from rows of `key`, `slot` and `bytes`: the entries of the state `matches`. */
  def partials(entries: Dataset[Row]): Dataset[Row] = {
    val (declared, shape) = (step, MatchView.partials(step))
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val reader = new MatchReader(declared)
      rows.filter(_.getLong(1) == 0).flatMap(row => reader.partials(row.getStruct(0), row.getAs[Array[Byte]](2)))
    }(Encoders.row(shape))
  }

  /** Rows that wait, from the same. */
  def waiting(entries: Dataset[Row]): Dataset[Row] = {
    val (declared, shape) = (step, MatchView.waiting(step))
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val reader = new MatchReader(declared)
      rows.flatMap(row => reader.waiting(row.getStruct(0), row.getLong(1), row.getAs[Array[Byte]](2)))
    }(Encoders.row(shape))
  }
}

object MatchView {
  /** The view of the pattern in a query's plan; null where there is none. */
  def of(query: Dataset[Row]): MatchView =
    query.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed.collectFirst {
      case t: TransformWithState if t.statefulProcessor.isInstanceOf[InOrderProcessor] =>
        t.statefulProcessor.asInstanceOf[InOrderProcessor].step
    }.collect { case step: MatchStep => new MatchView(step) }.orNull

  private def row(step: MatchStep): StructType = Columns.struct(step.columns.visible)

  /** `complete` matches wait for one that began before them. */
  private def partials(step: MatchStep): StructType = new StructType()
    .add("key", step.columns.keyType).add("start", TimestampType).add("end", TimestampType).add("complete", BooleanType)
    .add("matched", StructType(step.spec.steps.map(StructField(_, ArrayType(row(step))))))

  private def waiting(step: MatchStep): StructType =
    new StructType().add("key", step.columns.keyType).add("time", TimestampType).add("row", row(step))
}

/** Reads stored bytes. */
private final class MatchReader(step: MatchStep) {
  private val matcher = step.matcher()
  private val shown = createToScalaConverter(Columns.struct(step.columns.visible))
  private val time = createToScalaConverter(TimestampType)

  def partials(key: Row, stored: Array[Byte]): Seq[Row] =
    InOrder.stored(stored, step.fingerprint, matcher)._1.toSeq.flatMap { memory =>
      val begun = memory.partial.asScala.filter(_.started).toSeq.distinctBy(_.last)
      begun.map(partial(key, _, complete = false)) ++ memory.complete.asScala.map(partial(key, _, complete = true))
    }

  def waiting(key: Row, slot: Long, stored: Array[Byte]): Iterator[Row] =
    InOrder.waiting(slot, stored, step.fingerprint, matcher).map(waiting(key, _))

  private def waiting(key: Row, held: Held): Row =
    Row(own(key), time(held.time), row(step.columns.kept(held.row).copy()))

  private def partial(key: Row, one: Partial, complete: Boolean): Row = {
    val matched = new LinkedRows(one.last, step.spec.steps.size)
    val arrays = step.spec.steps.indices.map(matched.rows(_).map(row))
    Row(own(key), time(one.firstTime), time(one.lastTime), complete, Row.fromSeq(arrays))
  }

  private def row(of: InternalRow): Row = shown(of).asInstanceOf[Row]

  /** Without key columns Spark's key is a constant, which is none of ours. */
  private def own(key: Row): Row = if (step.columns.keys.isEmpty) Row.empty else key
}
