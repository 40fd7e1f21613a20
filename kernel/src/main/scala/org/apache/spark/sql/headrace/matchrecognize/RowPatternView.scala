package org.apache.spark.sql.headrace.matchrecognize

import org.apache.spark.sql.catalyst.CatalystTypeConverters.createToScalaConverter
import org.apache.spark.sql.headrace.operators.inorder.{InOrderLogic, InOrderProcessor, InOrderReader, InOrderView, StepColumns}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Encoders, Row}

/** The state of a `MATCH_RECOGNIZE` as rows that people can read: the rows of open matches, and rows that wait. */
final class RowPatternView(step: RowPatternStep) extends InOrderView(step) {
  /** How far each search has come, from rows of `key`, `slot` and `bytes`: the entries of the state `matches`. */
  def searches(entries: Dataset[Row]): Dataset[Row] = {
    val declared = step
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val reader = new RowPatternReader(declared)
      rows.filter(_.getLong(1) == 0).flatMap(row => reader.search(row.getStruct(0), row.getAs[Array[Byte]](2)))
    }(Encoders.row(RowPatternView.searches(step)))
  }
}

object RowPatternView {
  /** The view of the row pattern in a query's plan; null where there is none. */
  def of(query: Dataset[Row]): RowPatternView =
    InOrderProcessor.stepOf(query).collect { case step: RowPatternStep => new RowPatternView(step) }.orNull

  /** `found` counts the matches so far; `rows` are those of the match that is open, from `start` on. */
  private def searches(step: RowPatternStep): StructType = new StructType()
    .add("key", step.columns.keyType).add("start", TimestampType).add("end", TimestampType).add("found", LongType)
    .add("rows", ArrayType(StepColumns.struct(step.kept)))
}

/** Reads stored bytes. */
private final class RowPatternReader(step: RowPatternStep) extends InOrderReader(step) {
  private val matcher = step.matcher()
  private val kept = createToScalaConverter(StepColumns.struct(step.kept))

  def search(key: Row, stored: Array[Byte]): Option[Row] =
    InOrderLogic.readSlot(stored, step.fingerprint, matcher)._1.map { search =>
      val open = search.at until search.count
      val bounds = Seq(open.headOption, open.lastOption).map(_.map(n => time(search.timeOf(n))).orNull)
      Row(keyRow(key), bounds(0), bounds(1), search.number - 1, open.map(n => kept(search.row(n))))
    }
}
