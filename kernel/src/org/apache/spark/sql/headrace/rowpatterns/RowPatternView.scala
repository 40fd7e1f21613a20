/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.rowpatterns

import org.apache.spark.sql.{Dataset, Encoders, Row}
import org.apache.spark.sql.catalyst.CatalystTypeConverters.createToScalaConverter
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState
import org.apache.spark.sql.classic
import org.apache.spark.sql.headrace.patterns.{Columns, InOrder, InOrderProcessor}
import org.apache.spark.sql.headrace.windows.Held
import org.apache.spark.sql.types._

/** The state of a `MATCH_RECOGNIZE` as rows that people can read: the rows of open matches, and rows that wait. */
final class RowPatternView(step: RowPatternStep) {
  /** How far each search has come, from rows of `key`, `slot` and `bytes`: the entries of the state `matches`. */
  def searches(entries: Dataset[Row]): Dataset[Row] = {
    val declared = step
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val reader = new RowPatternReader(declared)
      rows.filter(_.getLong(1) == 0).flatMap(row => reader.search(row.getStruct(0), row.getAs[Array[Byte]](2)))
    }(Encoders.row(RowPatternView.searches(step)))
  }

  /** Rows that wait, from the same. */
  def waiting(entries: Dataset[Row]): Dataset[Row] = {
    val declared = step
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val reader = new RowPatternReader(declared)
      rows.flatMap(row => reader.waiting(row.getStruct(0), row.getLong(1), row.getAs[Array[Byte]](2)))
    }(Encoders.row(RowPatternView.waiting(step)))
  }
}

object RowPatternView {
  /** The view of the row pattern in a query's plan; null where there is none. */
  def of(query: Dataset[Row]): RowPatternView =
    query.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed.collectFirst {
      case t: TransformWithState if t.statefulProcessor.isInstanceOf[InOrderProcessor] =>
        t.statefulProcessor.asInstanceOf[InOrderProcessor].step
    }.collect { case step: RowPatternStep => new RowPatternView(step) }.orNull

  /** `found` counts the matches so far; `rows` are those of the match that is open, from `start` on. */
  private def searches(step: RowPatternStep): StructType = new StructType()
    .add("key", step.columns.keyType).add("start", TimestampType).add("end", TimestampType).add("found", LongType)
    .add("rows", ArrayType(Columns.struct(step.kept)))

  private def waiting(step: RowPatternStep): StructType = new StructType()
    .add("key", step.columns.keyType).add("time", TimestampType).add("row", Columns.struct(step.columns.visible))
}

/** Reads stored bytes. */
private final class RowPatternReader(step: RowPatternStep) {
  private val matcher = step.matcher()
  private val kept = createToScalaConverter(Columns.struct(step.kept))
  private val visible = createToScalaConverter(Columns.struct(step.columns.visible))
  private val time = createToScalaConverter(TimestampType)

  def search(key: Row, stored: Array[Byte]): Option[Row] =
    InOrder.stored(stored, step.fingerprint, matcher)._1.map { search =>
      val open = search.at until search.count
      val bounds = Seq(open.headOption, open.lastOption).map(_.map(n => time(search.timeOf(n))).orNull)
      Row(own(key), bounds(0), bounds(1), search.number - 1, open.map(n => kept(search.row(n))))
    }

  def waiting(key: Row, slot: Long, stored: Array[Byte]): Iterator[Row] =
    InOrder.waiting(slot, stored, step.fingerprint, matcher).map(waiting(key, _))

  private def waiting(key: Row, held: Held): Row =
    Row(own(key), time(held.time), visible(step.columns.kept(held.row).copy()))

  /** Without key columns Spark's key is a constant, which is none of ours. */
  private def own(key: Row): Row = if (step.columns.keys.isEmpty) Row.empty else key
}
