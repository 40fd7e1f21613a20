package org.apache.spark.sql.headrace.matchrecognize

import org.apache.spark.sql.catalyst.CatalystTypeConverters.createToScalaConverter
import org.apache.spark.sql.headrace.operators.inorder.{InOrderStep, InOrderView}
import org.apache.spark.sql.headrace.operators.keyed.StepColumns
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Row}

/** Decodes the state of a MATCH_RECOGNIZE step: open matches and buffered rows. */
final class RowPatternView(step: RowPatternStep) extends InOrderView(step) {
  private val stored = StepColumns.struct(step.stored)
  @transient override protected lazy val matcher: RowPatternMatcher = step.matcher()
  @transient private lazy val toScala = createToScalaConverter(stored)

  /** Search positions: `found` counts the matches so far; `rows` are those of the open match. */
  def searches(entries: Dataset[Row]): Dataset[Row] = {
    val shape = new StructType().add("key", keyType).add("start", TimestampType).add("end", TimestampType)
      .add("found", LongType).add("rows", ArrayType(stored))
    decodeMemory(entries, shape) { (key, search) =>
      val open = search.at until search.count
      val bounds = Seq(open.headOption, open.lastOption).map(_.map(n => time(search.timeOf(n))).orNull)
      Some(Row(key, bounds(0), bounds(1), search.number - 1, open.map(n => toScala(search.row(n)))))
    }
  }
}

object RowPatternView {
  /** Creates a view for the row pattern in a query's plan; null if there is none. */
  def of(query: Dataset[Row]): RowPatternView = InOrderStep.of(query).collect { case step: RowPatternStep =>
    new RowPatternView(step)
  }.orNull
}
