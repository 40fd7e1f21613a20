package org.apache.spark.sql.headrace.matchrecognize

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic
import org.apache.spark.sql.headrace.operators.Time
import org.apache.spark.sql.headrace.operators.inorder.{InOrderLogic, InOrderProcessor, JsonRowWriter, MatchOutput, StepColumns}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{Dataset, Row}

/** Answers why a `MATCH_RECOGNIZE` has (not) matched for one key; the same questions as `patterns.Inquiry` takes. */
final class RowPatternExplainer(step: RowPatternStep) extends ConditionListener {
  private val mapper = new ObjectMapper
  private val json = new JsonRowWriter(mapper)
  private val matcher = step.watched(this)
  private val visible = StepColumns.struct(step.columns.visible)
  /** What was asked of each row, by its number: where the attempt began, for which variable, and the answer. */
  private val asked = mutable.HashMap.empty[Long, mutable.ArrayBuffer[(Long, Long, Int, TestResult)]]

  override def asked(search: PartitionSearch, start: Long, taken: RowChain, answer: TestResult): Unit =
    asked.getOrElseUpdate(start + taken.size - 1, mutable.ArrayBuffer.empty) +=
      ((start, search.timeOf(start), taken.variable, answer))

  def columns: Array[String] = step.columns.raw.map(_.name).toArray

  def partials(stored: Array[Byte]): String = {
    val found = mapper.createArrayNode()
    open(found, remembered(stored))
    found.toString
  }

  def waiting(stored: Array[Byte], pieces: java.util.List[Array[Byte]]): String = {
    val search = remembered(stored)
    val told = mapper.createArrayNode()
    val events = InOrderLogic.bufferedRows(stored, pieces.asScala.toSeq, step.fingerprint, matcher).map(held => (held.row: InternalRow, held.time))
    tell(told, search, events, events.size)
    told.toString
  }

  def history(frame: Dataset[Row], watermark: Long, last: Int): String = {
    val (taken, ahead) = rows(frame).partition(_._2 < watermark)
    val (search, told) = (matcher.empty, mapper.createObjectNode())
    tell(told.putArray("rows"), search, taken, last)
    val after = told.putArray("after")
    if (watermark != Time.None) matcher.advance(null, search, watermark, heard(after))
    if (watermark >= Time.End) matcher.finish(null, search, heard(after))
    open(told.putArray("partials"), search)
    val unread = told.putArray("ahead")
    ahead.foreach { case (row, time) => event(unread.addObject(), row, time) }
    told.put("count", taken.size).toString
  }

  private def remembered(stored: Array[Byte]): PartitionSearch = {
    val search = Option(stored).flatMap(InOrderLogic.readSlot(_, step.fingerprint, matcher)._1).getOrElse(matcher.empty)
    matcher.resume(search)
    search
  }

  private def rows(frame: Dataset[Row]): Seq[(InternalRow, Long)] = {
    val at = step.columns.raw.indexWhere(_.name == "__ts")
    val plan = frame.asInstanceOf[classic.Dataset[Row]].queryExecution.executedPlan
    plan.executeCollect().toVector.filterNot(row => row.isNullAt(at) || row.getLong(at) < 0)
      .map(row => (step.columns.withAddedColumns(row).copy(): InternalRow, row.getLong(at)))
  }

  private def tell(into: ArrayNode, search: PartitionSearch, events: Seq[(InternalRow, Long)], last: Int): Unit = {
    val told = events.zipWithIndex.map { case ((row, time), i) =>
      val came = mapper.createArrayNode()
      matcher.advance(null, search, time, heard(came))
      val number = search.count
      matcher.take(null, search, row, time, heard(came))
      (row, time, number, came)
    }
    // Only now: what is asked of a row is asked when later ones have come, too.
    told.takeRight(last).foreach { case (row, time, number, came) =>
      val one = into.addObject()
      event(one, row, time)
      tests(one.putArray("asked"), number)
      one.set[ObjectNode]("came", came)
    }
  }

  /** The attempts that have looked at a row, each with the variables it was tested for. */
  private def tests(into: ArrayNode, number: Long): Unit = {
    val attempts = asked.getOrElse(number, Nil).toSeq.distinct.groupBy(a => (a._1, a._2)).toSeq.sortBy(_._1)
    attempts.foreach { case ((start, since), answers) =>
      val one = into.addObject()
      if (start < number) one.put("rows", number - start).set[ObjectNode]("start", json.time(since))
      val all = one.putArray("tests")
      val held = answers.map(a => a._3 -> a._4).distinct.groupBy(_._1).toSeq.sortBy(_._1)
      held.foreach { case (variable, said) => test(all.addObject(), variable, said.map(_._2)) }
      val takes = held.filter(_._2.exists(_._2 == TestPassed)).map(h => step.pattern.variables(h._1))
      one.put("outcome", if (takes.isEmpty) "taken as none of these" else s"taken as ${takes.mkString(" or as ")}")
    }
  }

  private def test(into: ObjectNode, variable: Int, answers: Seq[TestResult]): Unit = {
    into.put("step", step.pattern.variables(variable)).put("role", "define")
    if (answers.contains(TestPassed)) into.put("held", true)
    else if (answers.contains(TestFailed)) into.put("held", false)
    else into.putNull("held")
    into.putArray("parts")
  }

  /** The match that is open, with its rows so far; what they will be is not settled. */
  private def open(into: ArrayNode, search: PartitionSearch): Unit = if (search.at < search.count) {
    val (one, numbers) = (into.addObject(), search.at until search.count)
    one.set[ObjectNode]("start", json.time(search.timeOf(numbers.head)))
    one.set[ObjectNode]("end", json.time(search.timeOf(numbers.last)))
    step.pattern.within.foreach(w => one.set[ObjectNode]("times_out", json.time(Time.plus(search.timeOf(search.at), w))))
    one.put("complete", false)
    val rows = one.putArray("rows")
    numbers.foreach { number =>
      val row = rows.addObject().put("step", taken(search, number))
      row.set[ObjectNode]("time", json.time(search.timeOf(number)))
      row.set[ObjectNode]("row", shown(search.row(number)))
    }
    val waits = one.putArray("waits_for")
    Option(search.attempt).toSeq.flatMap(_.awaited).foreach(v => waits.addObject().put("step", step.pattern.variables(v)))
    one.putArray("ends_with")
    one.put("strict", true).put("for_time", false)
  }

  /** The variables that a row of the open attempt may be. */
  private def taken(search: PartitionSearch, number: Long): String =
    asked.getOrElse(number, Nil).filter(a => a._1 == search.at && a._4 == TestPassed).map(a => step.pattern.variables(a._3))
      .distinct.mkString(" or ")

  private def shown(row: InternalRow) = {
    val shape = StepColumns.struct(step.kept)
    val node = json.row(row, shape).asInstanceOf[ObjectNode]
    shape.fieldNames.filter(_.startsWith("__")).foreach(node.remove(_))
    node
  }

  private def event(into: ObjectNode, row: InternalRow, time: Long): Unit = {
    into.set[ObjectNode]("time", json.time(time))
    into.set[ObjectNode]("row", json.row(step.columns.storedRow(row), visible))
  }

  private def heard(into: ArrayNode): MatchOutput = (output: Int, row: InternalRow) => {
    val shape = step.columns.output(output + 1).dataType.asInstanceOf[StructType]
    val values = json.row(row, shape).asInstanceOf[ObjectNode]
    values.remove("__ts")
    into.addObject().put("kind", "match").set[ObjectNode]("values", values)
  }
}

object RowPatternExplainer {
  /** Inquires after the row pattern in a query's plan; null where there is none. */
  def of(query: Dataset[Row]): RowPatternExplainer =
    InOrderProcessor.stepOf(query).collect { case step: RowPatternStep => new RowPatternExplainer(step) }.orNull
}
