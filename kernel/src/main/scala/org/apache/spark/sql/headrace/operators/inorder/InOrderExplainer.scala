package org.apache.spark.sql.headrace.operators.inorder

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.headrace.operators.keyed.{StepColumns, StepOutput}
import org.apache.spark.sql.headrace.operators.{JsonRowWriter, Time}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{classic, Dataset, Row}

/**
 * Explains why an in-order step has or has not matched for one key: its open matches, what they wait for, and
 * the effect of each row. Runs the same matcher over the same rows. Reports are JSON.
 */
abstract class InOrderExplainer(step: InOrderStep) {
  protected val matcher: Matcher
  protected val mapper = new ObjectMapper
  protected val json = new JsonRowWriter(mapper)
  protected val visible: StructType = StepColumns.struct(step.columns.visible)
  protected val noKey = new GenericInternalRow(step.columns.keys.size)

  protected def reportOpen(into: ArrayNode, memory: matcher.Memory): Unit

  /** Passes rows to the matcher and reports the last ones. */
  protected def reportRows(
      into: ArrayNode, memory: matcher.Memory, rows: Seq[(InternalRow, Long)], last: Int): Unit

  /** False if a buffered row does not concern what is explained. */
  protected def concerns(row: InternalRow): Boolean = true

  /** Called for stored state. */
  protected def resume(memory: matcher.Memory): Unit = ()

  /** Number of leading result columns to omit, because the caller knows them. */
  protected def omittedColumns: Int = 0

  /** Names of the required input columns, in order. */
  def columns: Array[String] = step.columns.raw.map(_.name).toArray

  /** Open matches in a key's stored state (may be null). */
  def partials(stored: Array[Byte]): String = {
    val report = mapper.createArrayNode()
    reportOpen(report, readState(stored))
    report.toString
  }

  /** Effect of the buffered rows if the watermark passed them; `chunks` are the key's other slots. */
  def waiting(stored: Array[Byte], chunks: java.util.List[Array[Byte]]): String = {
    val report = mapper.createArrayNode()
    val memory = readState(stored)
    val rows = InOrderLogic.readAllRows(stored, chunks.asScala.toSeq, step.fingerprint, matcher)
      .map(entry => (entry.row: InternalRow, entry.time)).filter(entry => concerns(entry._1))
    reportRows(report, memory, rows, rows.size)
    report.toString
  }

  /**
   * Effect of the key's rows, from the first on.
   *
   * @param frame the key's rows in order, with `columns`
   * @param watermark rows from here on are not processed; Time.End for all
   * @param last the number of rows to report
   */
  def history(frame: Dataset[Row], watermark: Long, last: Int): String = {
    val (taken, ahead) = rows(frame).partition { case (_, time) => step.arrival || time < watermark }
    val memory = matcher.empty
    val report = mapper.createObjectNode()
    reportRows(report.putArray("rows"), memory, taken, last)
    val after = report.putArray("after")
    if (watermark != Time.None) matcher.advance(noKey, memory, watermark, recordOutput(after))
    if (watermark >= Time.End) matcher.finish(noKey, memory, recordOutput(after))
    reportOpen(report.putArray("partials"), memory)
    val unread = report.putArray("ahead")
    ahead.foreach { case (row, time) =>
      reportEvent(unread.addObject().put("matters", step.matters(row)), row, time)
    }
    report.put("count", taken.size).toString
  }

  protected def reportEvent(into: ObjectNode, row: InternalRow, time: Long): Unit = {
    into.set[ObjectNode]("time", json.time(time))
    into.set[ObjectNode]("row", json.row(step.columns.storedRow(row), visible))
  }

  /** Records results as `match` or `timeout` with their values. */
  protected def recordOutput(into: ArrayNode): StepOutput = (output: Int, row: InternalRow) => {
    val whole = step.columns.output(output + 1).dataType.asInstanceOf[StructType]
    val shape = StructType(whole.drop(omittedColumns))
    val values = json.row(InternalRow.fromSeq(row.toSeq(whole).drop(omittedColumns)), shape)
    values.asInstanceOf[ObjectNode].remove("__ts")
    into.addObject().put("kind", if (output == step.columns.timeouts) "timeout" else "match")
      .set[ObjectNode]("values", values)
  }

  private def readState(stored: Array[Byte]): matcher.Memory = {
    val memory = Option(stored).flatMap(InOrderLogic.readSlot(_, step.fingerprint, matcher)._1)
      .getOrElse(matcher.empty)
    resume(memory)
    memory
  }

  private def rows(frame: Dataset[Row]): Seq[(InternalRow, Long)] = {
    val at = step.columns.raw.indexWhere(_.name == "__ts")
    val plan = frame.asInstanceOf[classic.Dataset[Row]].queryExecution.executedPlan
    plan.executeCollect().toVector.filterNot(row => row.isNullAt(at) || row.getLong(at) < 0)
      .map(row => (step.columns.withAddedColumns(row).copy(): InternalRow, row.getLong(at)))
  }
}
