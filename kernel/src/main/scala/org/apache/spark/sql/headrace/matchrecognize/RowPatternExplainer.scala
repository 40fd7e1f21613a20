package org.apache.spark.sql.headrace.matchrecognize

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.{Dataset, Row, classic}
import org.apache.spark.sql.headrace.operators.keyed.{StepOutput, StepColumns}
import org.apache.spark.sql.headrace.operators.{JsonRowWriter, Time}
import org.apache.spark.sql.headrace.operators.inorder.{InOrderLogic, InOrderStep}
import org.apache.spark.sql.types.StructType

/** Explains why a MATCH_RECOGNIZE has or has not matched for one key; same interface as `MatchExplainer`. */
final class RowPatternExplainer(step: RowPatternStep) extends ConditionListener {
  private val mapper = new ObjectMapper
  private val json = new JsonRowWriter(mapper)
  private val matcher = step.matcherWith(this)
  private val visible = StepColumns.struct(step.columns.visible)

  /** Tests by row number: start of the attempt, its time, variable, result. */
  private val testsByRow = mutable.HashMap.empty[Long, mutable.ArrayBuffer[(Long, Long, Int, TestResult)]]

  override def tested(search: PartitionSearch, start: Long, taken: RowChain, answer: TestResult): Unit =
    testsByRow.getOrElseUpdate(start + taken.size - 1, mutable.ArrayBuffer.empty) +=
      ((start, search.timeOf(start), taken.variable, answer))

  def columns: Array[String] = step.columns.raw.map(_.name).toArray

  def partials(stored: Array[Byte]): String = {
    val found = mapper.createArrayNode()
    reportOpen(found, readState(stored))
    found.toString
  }

  def waiting(stored: Array[Byte], pieces: java.util.List[Array[Byte]]): String = {
    val search = readState(stored)
    val report = mapper.createArrayNode()
    val events = InOrderLogic.bufferedRows(stored, pieces.asScala.toSeq, step.fingerprint, matcher)
      .map(entry => (entry.row: InternalRow, entry.time))
    reportRows(report, search, events, events.size)
    report.toString
  }

  def history(frame: Dataset[Row], watermark: Long, last: Int): String = {
    val (taken, ahead) = rows(frame).partition(_._2 < watermark)
    val (search, report) = (matcher.empty, mapper.createObjectNode())
    reportRows(report.putArray("rows"), search, taken, last)
    val after = report.putArray("after")
    if (watermark != Time.None) matcher.advance(null, search, watermark, recordOutput(after))
    if (watermark >= Time.End) matcher.finish(null, search, recordOutput(after))
    reportOpen(report.putArray("partials"), search)
    val unread = report.putArray("ahead")
    ahead.foreach { case (row, time) => reportEvent(unread.addObject(), row, time) }
    report.put("count", taken.size).toString
  }

  private def readState(stored: Array[Byte]): PartitionSearch = {
    val search = Option(stored).flatMap(InOrderLogic.readSlot(_, step.fingerprint, matcher)._1)
      .getOrElse(matcher.empty)
    matcher.resume(search)
    search
  }

  private def rows(frame: Dataset[Row]): Seq[(InternalRow, Long)] = {
    val at = step.columns.raw.indexWhere(_.name == "__ts")
    val plan = frame.asInstanceOf[classic.Dataset[Row]].queryExecution.executedPlan
    plan.executeCollect().toVector.filterNot(row => row.isNullAt(at) || row.getLong(at) < 0)
      .map(row => (step.columns.withAddedColumns(row).copy(): InternalRow, row.getLong(at)))
  }

  private def reportRows(into: ArrayNode, search: PartitionSearch, events: Seq[(InternalRow, Long)],
      last: Int): Unit = {
    val report = events.zipWithIndex.map { case ((row, time), i) =>
      val results = mapper.createArrayNode()
      matcher.advance(null, search, time, recordOutput(results))
      val number = search.count
      matcher.take(null, search, row, time, recordOutput(results))
      (row, time, number, results)
    }
    // Reported afterwards: a row may be tested again when later rows arrive.
    report.takeRight(last).foreach { case (row, time, number, results) =>
      val node = into.addObject()
      reportEvent(node, row, time)
      tests(node.putArray("attempts"), number)
      node.set[ObjectNode]("results", results)
    }
  }

  /** Reports the attempts that tested a row, with the variables tested. */
  private def tests(into: ArrayNode, number: Long): Unit = {
    val attempts = testsByRow.getOrElse(number, Nil).toSeq.distinct.groupBy(a => (a._1, a._2)).toSeq
      .sortBy(_._1)
    attempts.foreach { case ((start, since), answers) =>
      val node = into.addObject()
      if (start < number) node.put("rows", number - start).set[ObjectNode]("start", json.time(since))
      val all = node.putArray("tests")
      val entry = answers.map(a => a._3 -> a._4).distinct.groupBy(_._1).toSeq.sortBy(_._1)
      entry.foreach { case (variable, answersOf) => test(all.addObject(), variable, answersOf.map(_._2)) }
      val takes = entry.filter(_._2.exists(_._2 == TestPassed)).map(h => step.pattern.variables(h._1))
      node.put(
        "outcome", if (takes.isEmpty) "taken as none of these" else s"taken as ${takes.mkString(" or as ")}")
    }
  }

  private def test(into: ObjectNode, variable: Int, answers: Seq[TestResult]): Unit = {
    into.put("step", step.pattern.variables(variable)).put("role", "define")
    if (answers.contains(TestPassed)) into.put("held", true)
    else if (answers.contains(TestFailed)) into.put("held", false)
    else into.putNull("held")
    into.putArray("parts")
  }

  /** Reports the open match and its rows so far. */
  private def reportOpen(into: ArrayNode, search: PartitionSearch): Unit = if (search.at < search.count) {
    val (node, numbers) = (into.addObject(), search.at until search.count)
    node.set[ObjectNode]("start", json.time(search.timeOf(numbers.head)))
    node.set[ObjectNode]("end", json.time(search.timeOf(numbers.last)))
    step.pattern.within
      .foreach(w => node.set[ObjectNode]("times_out", json.time(Time.plus(search.timeOf(search.at), w))))
    node.put("complete", false)
    val rows = node.putArray("rows")
    numbers.foreach { number =>
      val row = rows.addObject().put("step", variablesOf(search, number))
      row.set[ObjectNode]("time", json.time(search.timeOf(number)))
      row.set[ObjectNode]("row", toJson(search.row(number)))
    }
    val waits = node.putArray("waits_for")
    Option(search.attempt).toSeq.flatMap(_.awaited)
      .foreach(v => waits.addObject().put("step", step.pattern.variables(v)))
    node.putArray("ends_with")
    node.put("strict", true).put("for_time", false)
  }

  /** Variables that a row of the open attempt may match. */
  private def variablesOf(search: PartitionSearch, number: Long): String = testsByRow.getOrElse(number, Nil)
    .filter(a => a._1 == search.at && a._4 == TestPassed).map(a => step.pattern.variables(a._3)).distinct
    .mkString(" or ")

  private def toJson(row: InternalRow) = {
    val shape = StepColumns.struct(step.kept)
    val node = json.row(row, shape).asInstanceOf[ObjectNode]
    shape.fieldNames.filter(_.startsWith("__")).foreach(node.remove(_))
    node
  }

  private def reportEvent(into: ObjectNode, row: InternalRow, time: Long): Unit = {
    into.set[ObjectNode]("time", json.time(time))
    into.set[ObjectNode]("row", json.row(step.columns.storedRow(row), visible))
  }

  private def recordOutput(into: ArrayNode): StepOutput = (output: Int, row: InternalRow) => {
    val shape = step.columns.output(output + 1).dataType.asInstanceOf[StructType]
    val values = json.row(row, shape).asInstanceOf[ObjectNode]
    values.remove("__ts")
    into.addObject().put("kind", "match").set[ObjectNode]("values", values)
  }
}

object RowPatternExplainer {
  /** Creates an explainer for the row pattern in a query's plan; null if there is none. */
  def of(query: Dataset[Row]): RowPatternExplainer = InOrderStep.of(query)
    .collect { case step: RowPatternStep => new RowPatternExplainer(step) }.orNull
}
