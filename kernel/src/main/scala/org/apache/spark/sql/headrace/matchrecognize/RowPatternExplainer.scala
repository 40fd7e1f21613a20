package org.apache.spark.sql.headrace.matchrecognize

import scala.collection.mutable

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.Time
import org.apache.spark.sql.headrace.operators.inorder.{InOrderExplainer, InOrderStep}
import org.apache.spark.sql.headrace.operators.keyed.StepColumns
import org.apache.spark.sql.{Dataset, Row}

/** Explains a MATCH_RECOGNIZE: its open match, and the variables that each row was tested against. */
final class RowPatternExplainer(step: RowPatternStep) extends InOrderExplainer(step) {
  override protected val matcher: RowPatternMatcher = step.matcherWith(recordTest)

  /** Tests by row number: start of the attempt, its time, variable, result. */
  private val testsByRow = mutable.HashMap.empty[Long, mutable.ArrayBuffer[(Long, Long, Int, TestResult)]]

  private def recordTest(search: PartitionSearch, taken: RowChain, answer: TestResult): Unit = testsByRow
    .getOrElseUpdate(search.at + taken.size - 1, mutable.ArrayBuffer.empty) +=
    ((search.at, search.timeOf(search.at), taken.variable, answer))

  /** Tests the stored rows of the open match again. */
  override protected def resume(search: PartitionSearch): Unit = matcher.resume(search)

  override protected def reportRows(into: ArrayNode, search: PartitionSearch,
      events: Seq[(InternalRow, Long)], last: Int): Unit = {
    val report = events.zipWithIndex.map { case ((row, time), i) =>
      val results = mapper.createArrayNode()
      matcher.advance(noKey, search, time, recordOutput(results))
      val number = search.count
      matcher.take(noKey, search, row, time, recordOutput(results))
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
  override protected def reportOpen(
      into: ArrayNode, search: PartitionSearch): Unit = if (search.at < search.count) {
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
    val shape = StepColumns.struct(step.stored)
    val node = json.row(row, shape).asInstanceOf[ObjectNode]
    shape.fieldNames.filter(_.startsWith("__")).foreach(node.remove(_))
    node
  }
}

object RowPatternExplainer {
  /** Creates an explainer for the row pattern in a query's plan; null if there is none. */
  def of(query: Dataset[Row]): RowPatternExplainer = InOrderStep.of(query)
    .collect { case step: RowPatternStep => new RowPatternExplainer(step) }.orNull
}
