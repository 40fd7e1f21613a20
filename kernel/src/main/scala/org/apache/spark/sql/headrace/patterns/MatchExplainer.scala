package org.apache.spark.sql.headrace.patterns

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.inorder.{InOrderExplainer, InOrderStep, Matcher}
import org.apache.spark.sql.headrace.operators.keyed.StepOutput
import org.apache.spark.sql.{classic, Dataset, Row}

/** A pattern to explain: its step, and where the step's state holds its partial matches. */
abstract class ExplainedPattern(val step: InOrderStep, val spec: PatternSpec) {
  val matcher: Matcher

  def parts: IndexedSeq[Seq[ConditionPart]]
  def partials(memory: matcher.Memory): PartialMatches

  /** False if a buffered row does not concern this pattern. */
  def concerns(row: InternalRow): Boolean = true

  /** Number of leading result columns to omit, because the caller knows them: the key. */
  def omittedColumns: Int = step.columns.keys.size
}

/** Explains a pattern: its partial matches, and the effect of each row, condition by condition. */
final class MatchExplainer(val pattern: ExplainedPattern) extends InOrderExplainer(pattern.step) {
  import pattern.spec
  override protected val matcher: pattern.matcher.type = pattern.matcher
  private val probe = new AutomatonProbe(spec, pattern.parts)

  override protected def concerns(row: InternalRow): Boolean = pattern.concerns(row)
  override protected def omittedColumns: Int = pattern.omittedColumns

  override protected def reportOpen(into: ArrayNode, memory: matcher.Memory): Unit = {
    val partials = pattern.partials(memory)
    probe.groupByRows(partials.partial.asScala.filter(_.started))
      .foreach(reportPartial(into.addObject(), _, complete = false))
    partials.complete.asScala
      .foreach(partial => reportPartial(into.addObject(), Seq(partial), complete = true))
  }

  override protected def reportRows(into: ArrayNode, memory: matcher.Memory, rows: Seq[(InternalRow, Long)],
      last: Int): Unit = {
    val (before, reported) = rows.splitAt(rows.size - last)
    val discard: StepOutput = (_, _) => ()
    before.foreach { case (row, time) =>
      matcher.advance(noKey, memory, time, discard)
      matcher.take(noKey, memory, row, time, discard)
    }
    reported.foreach { case (row, time) => reportRow(into.addObject(), memory, row, time) }
  }

  /** Reports a row before the matcher processes it, and its results. */
  private def reportRow(into: ObjectNode, memory: matcher.Memory, row: InternalRow, time: Long): Unit = {
    reportEvent(into, row, time)
    val results = mapper.createArrayNode()
    matcher.advance(noKey, memory, time, recordOutput(results))
    val attempts = into.putArray("attempts")
    val (begun, start) = probe.groupByRows(pattern.partials(memory).partial.asScala).partition(_.head.started)
    (begun ++ start).foreach(group => reportGroup(attempts.addObject(), group, row, time))
    matcher.take(noKey, memory, row, time, recordOutput(results))
    into.set[ObjectNode]("results", results)
  }

  private def reportGroup(into: ObjectNode, group: Seq[PartialMatch], row: InternalRow, time: Long): Unit = {
    val of = group.head
    if (of.started) {
      into.set[ObjectNode]("start", json.time(of.firstTime))
      into.put("rows", Iterator.iterate(of.last)(_.before).takeWhile(_ != null).size)
    }
    val (tested, outcomes) = probe.at(group, row, time)
    val tests = into.putArray("tests")
    tested.foreach { case (number, entry) =>
      reportTest(tests.addObject(), number, entry, row, probe.rowsOf(of))
    }
    into.put("outcome", probe.describe(outcomes, of.started))
  }

  private def reportTest(into: ObjectNode, number: Int, entry: Boolean, row: InternalRow,
      matched: MatchedRows): Unit = {
    val (name, role) = probe.roles(number)
    into.put("step", name).put("role", role).put("condition", spec.conditions(number)).put("held", entry)
    val parts = into.putArray("parts")
    probe.parts(number).foreach { part =>
      parts.addObject().put("text", part.text).put("held", part.holds(row, matched))
        .set[ObjectNode]("values", json.row(part.valuesOf(row, matched), part.shape))
    }
  }

  private def reportPartial(into: ObjectNode, group: Seq[PartialMatch], complete: Boolean): Unit = {
    val of = group.head
    into.set[ObjectNode]("start", json.time(of.firstTime))
    into.set[ObjectNode]("end", json.time(of.lastTime))
    probe.deadline(of).foreach(at => into.set[ObjectNode]("times_out", json.time(at)))
    into.put("complete", complete)
    val rows = into.putArray("rows")
    Iterator.iterate(of.last)(_.before).takeWhile(_ != null).toVector.reverse.foreach { link =>
      val row = rows.addObject().put("step", spec.steps(link.step))
      row.set[ObjectNode]("time", json.time(link.taken.time))
      row.set[ObjectNode]("row", json.row(link.taken.row, visible))
    }
    if (!complete) reportAwaited(into, group)
  }

  private def reportAwaited(into: ObjectNode, group: Seq[PartialMatch]): Unit = {
    val awaited = probe.findAwaited(group.map(_.state))
    val steps = into.putArray("waits_for")
    awaited.steps
      .foreach(n => steps.addObject().put("step", spec.steps(n)).put("condition", probe.condition(n)))
    val nots = into.putArray("ends_with")
    awaited.stops
      .foreach(n => nots.addObject().put("step", spec.steps(n)).put("condition", probe.condition(n)))
    into.put("strict", awaited.strict).put("for_time", awaited.pending)
  }
}

object MatchExplainer {
  /** Creates an explainer for the pattern in a query's plan; null if there is none. */
  def of(query: Dataset[Row]): MatchExplainer = {
    val session = query.sparkSession.asInstanceOf[classic.SparkSession]
    InOrderStep.of(query).collect { case step: MatchStep =>
      val references = new StepReferences(session, step.spec.steps, step.columns.visible)
      new MatchExplainer(new ExplainedMatch(step, references))
    }.orNull
  }
}

private final class ExplainedMatch(declared: MatchStep, references: StepReferences)
    extends ExplainedPattern(declared, declared.spec) {
  override val matcher: AutomatonMatcher = declared.matcher()
  override def parts: IndexedSeq[Seq[ConditionPart]] = spec.conditions
    .map(references.parts(_, step.columns.input))
  override def partials(memory: PartialMatches): PartialMatches = memory
}
