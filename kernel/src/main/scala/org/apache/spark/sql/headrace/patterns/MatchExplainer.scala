package org.apache.spark.sql.headrace.patterns

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.{Dataset, Row, classic}
import org.apache.spark.sql.headrace.operators.keyed.{StepOutput, StepColumns}
import org.apache.spark.sql.headrace.operators.{JsonRowWriter, Time}
import org.apache.spark.sql.headrace.operators.inorder.{InOrderLogic, InOrderStep, Matcher}
import org.apache.spark.sql.types.StructType

/** A pattern to explain: its step, and where the step's state holds its partial matches. */
abstract class ExplainedPattern(val step: InOrderStep, val spec: PatternSpec) {
  val matcher: Matcher

  /** The conjuncts of each condition. */
  def parts: IndexedSeq[Seq[ConditionPart]]
  def partials(memory: matcher.Memory): PartialMatches

  /** False if a buffered row does not concern this pattern. */
  def concerns(row: InternalRow): Boolean = true

  /** Number of leading result columns to omit, because the caller knows them: the key. */
  def omittedColumns: Int = step.columns.keys.size
}

/**
 * Explains why a pattern has or has not matched for one key: its partial matches, what they wait for, and the
 * effect of each row, condition by condition. Runs the same matcher over the same rows.
 */
final class MatchExplainer(pattern: ExplainedPattern) {
  import pattern.{matcher, spec, step}

  private val mapper = new ObjectMapper
  private val json = new JsonRowWriter(mapper)
  private val noKey = new GenericInternalRow(step.columns.keys.size)
  private val visible = StepColumns.struct(step.columns.visible)
  private val probe = new AutomatonProbe(spec, pattern.parts)

  /** Names of the required input columns, in order. */
  def columns: Array[String] = step.columns.raw.map(_.name).toArray

  /** Partial matches in a key's stored state (may be null), as JSON. */
  def partials(stored: Array[Byte]): String = {
    val found = mapper.createArrayNode()
    partials(found, pattern.partials(readState(stored)))
    found.toString
  }

  /** Effect of the buffered rows if the watermark passed them; `pieces` are the key's other slots. */
  def waiting(stored: Array[Byte], pieces: java.util.List[Array[Byte]]): String = {
    val report = mapper.createArrayNode()
    val memory = readState(stored)
    InOrderLogic.bufferedRows(stored, pieces.asScala.toSeq, step.fingerprint, matcher)
      .filter(entry => pattern.concerns(entry.row))
      .foreach(entry => reportRow(report.addObject(), memory, entry.row, entry.time))
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
    val shown = report.putArray("rows")
    taken.zipWithIndex.foreach { case ((row, time), i) =>
      if (i >= taken.size - last) reportRow(shown.addObject(), memory, row, time)
      else process(memory, row, time, MatchExplainer.DiscardOutput)
    }
    val after = report.putArray("after")
    if (watermark != Time.None) matcher.advance(noKey, memory, watermark, recordOutput(after))
    if (watermark >= Time.End) matcher.finish(noKey, memory, recordOutput(after))
    partials(report.putArray("partials"), pattern.partials(memory))
    val unread = report.putArray("ahead")
    ahead.foreach { case (row, time) =>
      reportEvent(unread.addObject().put("matters", step.matters(row)), row, time)
    }
    report.put("count", taken.size).toString
  }

  private def partials(into: ArrayNode, memory: PartialMatches): Unit = {
    probe.groupByRows(memory.partial.asScala.filter(_.started))
      .foreach(reportPartial(into.addObject(), _, complete = false))
    memory.complete.asScala.foreach(one => reportPartial(into.addObject(), Seq(one), complete = true))
  }

  private def readState(stored: Array[Byte]): matcher.Memory = Option(stored)
    .flatMap(InOrderLogic.readSlot(_, step.fingerprint, matcher)._1).getOrElse(matcher.empty)

  private def rows(frame: Dataset[Row]): Seq[(InternalRow, Long)] = {
    val at = step.columns.raw.indexWhere(_.name == "__ts")
    val plan = frame.asInstanceOf[classic.Dataset[Row]].queryExecution.executedPlan
    plan.executeCollect().toVector.filterNot(row => row.isNullAt(at) || row.getLong(at) < 0)
      .map(row => (step.columns.withAddedColumns(row).copy(): InternalRow, row.getLong(at)))
  }

  private def process(memory: matcher.Memory, row: InternalRow, time: Long, out: StepOutput): Unit = {
    matcher.advance(noKey, memory, time, out)
    matcher.take(noKey, memory, row, time, out)
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
      reportTest(tests.addObject(), number, entry, row, probe.matched(of))
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
      val one = rows.addObject().put("step", spec.steps(link.step))
      one.set[ObjectNode]("time", json.time(link.taken.time))
      one.set[ObjectNode]("row", json.row(link.taken.row, visible))
    }
    if (!complete) reportAwaited(into, group)
  }

  private def reportAwaited(into: ObjectNode, group: Seq[PartialMatch]): Unit = {
    val awaited = probe.awaited(group.map(_.state))
    val steps = into.putArray("waits_for")
    awaited.steps
      .foreach(n => steps.addObject().put("step", spec.steps(n)).put("condition", probe.condition(n)))
    val nots = into.putArray("ends_with")
    awaited.stops
      .foreach(n => nots.addObject().put("step", spec.steps(n)).put("condition", probe.condition(n)))
    into.put("strict", awaited.strict).put("for_time", awaited.pending)
  }

  private def reportEvent(into: ObjectNode, row: InternalRow, time: Long): Unit = {
    into.set[ObjectNode]("time", json.time(time))
    into.set[ObjectNode]("row", json.row(step.columns.storedRow(row), visible))
  }

  /** Records results as `match` or `timeout` with their values. */
  private def recordOutput(into: ArrayNode): StepOutput = (output: Int, row: InternalRow) => {
    val whole = step.columns.output(output + 1).dataType.asInstanceOf[StructType]
    val shape = StructType(whole.drop(pattern.omittedColumns))
    val own = InternalRow.fromSeq(row.toSeq(whole).drop(pattern.omittedColumns))
    val what = into.addObject().put("kind", if (output == AutomatonMatcher.Main) "match" else "timeout")
    what.set[ObjectNode]("values", json.row(own, shape)).get("values").asInstanceOf[ObjectNode].remove("__ts")
  }
}

object MatchExplainer {
  private object DiscardOutput extends StepOutput {
    override def emit(output: Int, row: InternalRow): Unit = ()
  }

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
