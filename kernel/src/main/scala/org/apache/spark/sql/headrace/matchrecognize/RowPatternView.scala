package org.apache.spark.sql.headrace.matchrecognize

import org.apache.spark.sql.catalyst.CatalystTypeConverters.createToScalaConverter
import org.apache.spark.sql.headrace.operators.keyed.StepColumns
import org.apache.spark.sql.headrace.operators.inorder.{InOrderLogic, InOrderStep, InOrderReader, InOrderView}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Encoders, Row}

/** Decodes the state of a MATCH_RECOGNIZE step: open matches and buffered rows. */
final class RowPatternView(step: RowPatternStep) extends InOrderView(step) {
  /** Search positions, from the entries (`key`, `slot`, `bytes`) of the state variable `matches`. */
  def searches(entries: Dataset[Row]): Dataset[Row] = {
    val declared = step
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val reader = new RowPatternReader(declared)
      rows.filter(_.getLong(1) == 0)
        .flatMap(row => reader.search(row.getStruct(0), row.getAs[Array[Byte]](2)))
    }(Encoders.row(RowPatternView.searches(step)))
  }
}

object RowPatternView {
  /** Creates a view for the row pattern in a query's plan; null if there is none. */
  def of(query: Dataset[Row]): RowPatternView = InOrderStep.of(query).collect { case step: RowPatternStep =>
    new RowPatternView(step)
  }.orNull

  /** `found` counts the matches so far; `rows` are those of the open match. */
  private def searches(step: RowPatternStep): StructType = new StructType().add("key", step.columns.keyType)
    .add("start", TimestampType).add("end", TimestampType).add("found", LongType)
    .add("rows", ArrayType(StepColumns.struct(step.kept)))
}

/** Decodes stored bytes. */
private final class RowPatternReader(step: RowPatternStep) extends InOrderReader(step) {
  private val matcher = step.matcher()
  private val kept = createToScalaConverter(StepColumns.struct(step.kept))

  def search(key: Row, stored: Array[Byte]): Option[Row] = InOrderLogic
    .readSlot(stored, step.fingerprint, matcher)._1.map { search =>
      val open = search.at until search.count
      val bounds = Seq(open.headOption, open.lastOption).map(_.map(n => time(search.timeOf(n))).orNull)
      Row(keyRow(key), bounds(0), bounds(1), search.number - 1, open.map(n => kept(search.row(n))))
    }
}
