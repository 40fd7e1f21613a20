package org.apache.spark.sql.headrace.over

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.operators._
import org.apache.spark.sql.headrace.operators.inorder.{InOrderStep, Matcher}
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, KeyedStep, StepColumns}
import org.apache.spark.sql.headrace.tables.{TableRows, TableStep}
import org.apache.spark.sql.types.StructType

/**
 * Window functions over the rows of each key in event-time order, or in arrival order: one result per row.
 *
 * @param ties the order of rows with equal event time; others keep arrival order and are peers
 */
final class OrderedOverStep(val columns: StepColumns, val rows: TableRows, val functions: OverFunctions,
    val frame: OverFrame, val ties: Seq[SortOrder], val arrival: Boolean, val time: StepTime.Value)
    extends InOrderStep {
  override def variable: String = "over"
  override def fingerprint: Int = (functions.fingerprint, frame, ties.map(_.sql), arrival).hashCode
  override def matcher(): Matcher = new OverMatcher(this)
}

/** Window functions over the rows of each key in the order of any columns: a table, whose rows are revised. */
final class TableOverStep(val columns: StepColumns, val rows: TableRows, val functions: OverFunctions,
    val frame: OverFrame, val orders: Seq[SortOrder], val low: Option[Attribute], val time: StepTime.Value)
    extends TableStep {
  override def variable: String = "over_table"
  override def logic(counts: Counts): KeyedLogic = new OverTable(this, counts)
}

object OverStep {
  /**
   * Creates a step.
   *
   * The frame has the order columns `__order0`, `__order1`, ..., and for a range with a bound in a table
   * `__low`, the order value where the frame of the row begins.
   *
   * @param text the declaration as JSON: `keys`, `time`, `updating`, `arrival`, `order` with one word per
   *             order column, `frame`, and `columns` with names and expressions
   */
  def apply(frame: Dataset[Row], text: String): KeyedStep = {
    val spec = new ObjectMapper().readTree(text)
    val plan = OperatorPlan.planOf(frame)
    val keys = words(spec.get("keys"))
    val directions = words(spec.get("order"))
    val orderNames = directions.indices.map(i => s"__order$i")
    val updating = spec.get("updating").asBoolean
    val low = plan.output.find(_.name == "__low")
    val rows = new TableRows(plan.output, orderNames ++ low.map(_.name))
    val texts = spec.get("columns").properties.asScala.toSeq.map(e => e.getKey -> e.getValue.asText)
    val session = frame.sparkSession.asInstanceOf[SparkSession]
    val columns = if (updating) rows.stored else plan.output
    val functions = OverFunctions.parse(session, plan, columns, texts)
    val change = if (updating) Change.fields else Nil
    val main = StructType((rows.fields ++ functions.fields ++ change) :+ rows.timeField)
    val outputs = new StepColumns(plan.output, Nil, keys, Seq("main" -> main))
    val orders = orderNames.zip(directions).map { case (name, direction) =>
      order(columns.find(_.name == name).get, direction)
    }
    val time = StepTime.withName(spec.get("time").asText)
    val over = OverFrame.parse(spec.get("frame"))
    if (updating) new TableOverStep(outputs, rows, functions, over, orders, low, time)
    else new OrderedOverStep(outputs, rows, functions, over, orders, spec.get("arrival").asBoolean, time)
  }

  private def order(column: Attribute, words: String): SortOrder = {
    val direction = if (words.startsWith("desc")) Descending else Ascending
    val nulls =
      if (words.endsWith("nulls first")) NullsFirst
      else if (words.endsWith("nulls last")) NullsLast
      else direction.defaultNullOrdering
    SortOrder(column, direction, nulls, Nil)
  }

  private def words(list: JsonNode): Seq[String] = list.elements.asScala.map(_.asText).toVector
}
