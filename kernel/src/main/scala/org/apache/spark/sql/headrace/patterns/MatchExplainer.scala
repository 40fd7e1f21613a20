package org.apache.spark.sql.headrace.patterns

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.classic
import org.apache.spark.sql.headrace.operators.Time
import org.apache.spark.sql.headrace.operators.inorder.{InOrderLogic, InOrderProcessor, InOrderStep, JsonRowWriter, MatchOutput, Matcher, StepColumns}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{Dataset, Row}

/** A pattern that is asked about: the step that looks for it, and where in what that remembers its partial matches are. */
abstract class ExplainedPattern(val step: InOrderStep, val spec: PatternSpec) {
  val matcher: Matcher

  /** Each condition, taken apart. */
  def parts: IndexedSeq[Seq[ConditionPart]]

  def partials(memory: matcher.Memory): PartialMatches

  /** Whether a row that waits is any business of the pattern's. */
  def sees(row: InternalRow): Boolean = true

  /** So many columns of a result are not told, because the one who asks knows them: the key's. */
  def known: Int = step.columns.keys.size
}

/**
 * Answers why a pattern has (not) matched for one key: what is remembered of it, what that waits for, and what became of
 * its rows, condition by condition. It runs the same matcher over the same rows and looks on.
 */
final class MatchExplainer(pattern: ExplainedPattern) {
  import pattern.{matcher, spec, step}

  private val mapper = new ObjectMapper
  private val json = new JsonRowWriter(mapper)
  private val nobody = new GenericInternalRow(step.columns.keys.size)
  private val visible = StepColumns.struct(step.columns.visible)
  private val look = new AutomatonProbe(spec, pattern.parts)

  /** The columns that a row of the input must have, in their order. */
  def columns: Array[String] = step.columns.raw.map(_.name).toArray

  /** The partial matches in a key's state, as stored; null for none. */
  def partials(stored: Array[Byte]): String = {
    val found = mapper.createArrayNode()
    partials(found, pattern.partials(remembered(stored)))
    found.toString
  }

  /** What the rows that wait would do if the watermark passed them all now; `pieces` are the key's other slots, in order. */
  def waiting(stored: Array[Byte], pieces: java.util.List[Array[Byte]]): String = {
    val told = mapper.createArrayNode()
    val memory = remembered(stored)
    InOrderLogic.bufferedRows(stored, pieces.asScala.toSeq, step.fingerprint, matcher)
      .filter(held => pattern.sees(held.row)).foreach(held => tell(told.addObject(), memory, held.row, held.time))
    told.toString
  }

  /**
   * What the rows of the key have done, from the first on.
   *
   * @param frame the key's rows in order, with `columns`
   * @param watermark rows from here on have not been taken; Time.End for all
   * @param last so many rows are told of
   */
  def history(frame: Dataset[Row], watermark: Long, last: Int): String = {
    val (taken, ahead) = rows(frame).partition { case (_, time) => step.arrival || time < watermark }
    val memory = matcher.empty
    val told = mapper.createObjectNode()
    val shown = told.putArray("rows")
    taken.zipWithIndex.foreach { case ((row, time), i) =>
      if (i >= taken.size - last) tell(shown.addObject(), memory, row, time)
      else taking(memory, row, time, MatchExplainer.DiscardOutput)
    }
    val after = told.putArray("after")
    if (watermark != Time.None) matcher.advance(nobody, memory, watermark, heard(after))
    if (watermark >= Time.End) matcher.finish(nobody, memory, heard(after))
    partials(told.putArray("partials"), pattern.partials(memory))
    val unread = told.putArray("ahead")
    ahead.foreach { case (row, time) => event(unread.addObject().put("matters", step.matters(row)), row, time) }
    told.put("count", taken.size).toString
  }

  private def partials(into: ArrayNode, memory: PartialMatches): Unit = {
    look.together(memory.partial.asScala.filter(_.started)).foreach(partial(into.addObject(), _, complete = false))
    memory.complete.asScala.foreach(one => partial(into.addObject(), Seq(one), complete = true))
  }

  private def remembered(stored: Array[Byte]): matcher.Memory =
    Option(stored).flatMap(InOrderLogic.readSlot(_, step.fingerprint, matcher)._1).getOrElse(matcher.empty)

  private def rows(frame: Dataset[Row]): Seq[(InternalRow, Long)] = {
    val at = step.columns.raw.indexWhere(_.name == "__ts")
    val plan = frame.asInstanceOf[classic.Dataset[Row]].queryExecution.executedPlan
    plan.executeCollect().toVector.filterNot(row => row.isNullAt(at) || row.getLong(at) < 0)
      .map(row => (step.columns.withAddedColumns(row).copy(): InternalRow, row.getLong(at)))
  }

  private def taking(memory: matcher.Memory, row: InternalRow, time: Long, out: MatchOutput): Unit = {
    matcher.advance(nobody, memory, time, out)
    matcher.take(nobody, memory, row, time, out)
  }

  /** Looks at a row before the matcher takes it, and at what came of it. */
  private def tell(into: ObjectNode, memory: matcher.Memory, row: InternalRow, time: Long): Unit = {
    event(into, row, time)
    val came = mapper.createArrayNode()
    matcher.advance(nobody, memory, time, heard(came))
    val asked = into.putArray("asked")
    val (begun, start) = look.together(pattern.partials(memory).partial.asScala).partition(_.head.started)
    (begun ++ start).foreach(several => told(asked.addObject(), several, row, time))
    matcher.take(nobody, memory, row, time, heard(came))
    into.set[ObjectNode]("came", came)
  }

  private def told(into: ObjectNode, several: Seq[PartialMatch], row: InternalRow, time: Long): Unit = {
    val of = several.head
    if (of.started) {
      into.set[ObjectNode]("start", json.time(of.firstTime))
      into.put("rows", Iterator.iterate(of.last)(_.before).takeWhile(_ != null).size)
    }
    val (asked, outcomes) = look.at(several, row, time)
    val tests = into.putArray("tests")
    asked.foreach { case (number, held) => test(tests.addObject(), number, held, row, look.matched(of)) }
    into.put("outcome", look.said(outcomes, of.started))
  }

  private def test(into: ObjectNode, number: Int, held: Boolean, row: InternalRow, matched: MatchedRows): Unit = {
    val (name, role) = look.roles(number)
    into.put("step", name).put("role", role).put("condition", spec.conditions(number)).put("held", held)
    val parts = into.putArray("parts")
    look.parts(number).foreach { part =>
      parts.addObject().put("text", part.text).put("held", part.holds(row, matched))
        .set[ObjectNode]("values", json.row(part.seen(row, matched), part.shape))
    }
  }

  private def partial(into: ObjectNode, several: Seq[PartialMatch], complete: Boolean): Unit = {
    val of = several.head
    into.set[ObjectNode]("start", json.time(of.firstTime))
    into.set[ObjectNode]("end", json.time(of.lastTime))
    look.deadline(of).foreach(at => into.set[ObjectNode]("times_out", json.time(at)))
    into.put("complete", complete)
    val rows = into.putArray("rows")
    Iterator.iterate(of.last)(_.before).takeWhile(_ != null).toVector.reverse.foreach { link =>
      val one = rows.addObject().put("step", spec.steps(link.step))
      one.set[ObjectNode]("time", json.time(link.taken.time))
      one.set[ObjectNode]("row", json.row(link.taken.row, visible))
    }
    if (!complete) waits(into, several)
  }

  private def waits(into: ObjectNode, several: Seq[PartialMatch]): Unit = {
    val awaited = look.awaited(several.map(_.state))
    val steps = into.putArray("waits_for")
    awaited.steps.foreach(n => steps.addObject().put("step", spec.steps(n)).put("condition", look.condition(n)))
    val nots = into.putArray("ends_with")
    awaited.stops.foreach(n => nots.addObject().put("step", spec.steps(n)).put("condition", look.condition(n)))
    into.put("strict", awaited.strict).put("for_time", awaited.pending)
  }

  private def event(into: ObjectNode, row: InternalRow, time: Long): Unit = {
    into.set[ObjectNode]("time", json.time(time))
    into.set[ObjectNode]("row", json.row(step.columns.storedRow(row), visible))
  }

  /** Writes results down: `match` or `timeout`, with what it gives. */
  private def heard(into: ArrayNode): MatchOutput = (output: Int, row: InternalRow) => {
    val whole = step.columns.output(output + 1).dataType.asInstanceOf[StructType]
    val shape = StructType(whole.drop(pattern.known))
    val own = InternalRow.fromSeq(row.toSeq(whole).drop(pattern.known))
    val what = into.addObject().put("kind", if (output == AutomatonMatcher.Main) "match" else "timeout")
    what.set[ObjectNode]("values", json.row(own, shape)).get("values").asInstanceOf[ObjectNode].remove("__ts")
  }
}

object MatchExplainer {
  private object DiscardOutput extends MatchOutput {
    override def emit(output: Int, row: InternalRow): Unit = ()
  }

  /** Inquires after the pattern in a query's plan; null where there is none. */
  def of(query: Dataset[Row]): MatchExplainer = {
    val session = query.sparkSession.asInstanceOf[classic.SparkSession]
    InOrderProcessor.stepOf(query).collect { case step: MatchStep =>
      val references = new StepReferences(session, step.spec.steps, step.columns.visible)
      new MatchExplainer(new ExplainedMatch(step, references))
    }.orNull
  }
}

private final class ExplainedMatch(declared: MatchStep, references: StepReferences) extends ExplainedPattern(declared, declared.spec) {
  override val matcher: AutomatonMatcher = declared.matcher()
  override def parts: IndexedSeq[Seq[ConditionPart]] = spec.conditions.map(references.parts(_, step.columns.input))
  override def partials(memory: PartialMatches): PartialMatches = memory
}
