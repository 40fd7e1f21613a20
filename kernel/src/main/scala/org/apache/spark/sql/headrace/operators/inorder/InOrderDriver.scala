package org.apache.spark.sql.headrace.operators.inorder

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.state.MemoryStore
import org.apache.spark.sql.headrace.operators.{Counts, Now, ScriptRows, Time}
import org.apache.spark.sql.headrace.patterns.MatchStep
import org.apache.spark.sql.{Dataset, Row}

/**
 * A step over rows in order without a streaming query: the same per-key logic over state in memory, for tests in virtual
 * time. Scripts are those of `WindowDriver`: one event is one micro-batch, times are whole microseconds. `"rules"` in an
 * event change what a step looks for, before it.
 */
final class InOrderDriver(step: InOrderStep) {
  def this(frame: Dataset[Row], spec: String) = this(MatchStep(frame, spec))

  private val json = new ObjectMapper
  private val rows = new ScriptRows(StepColumns.struct(step.columns.beneath))

  /** Runs a script from an empty state; gives what each event emitted, the counts, the keys with state and the schema. */
  def run(script: String): String = {
    val run = new InOrderRun(step)
    val events = json.readTree(script).elements.asScala.map { event =>
      step match {
        case changing: ReloadableStep if event.hasNonNull("rules") => changing.load(event.get("rules").asText)
        case _ =>
      }
      if (event.path("restart").asBoolean || event.hasNonNull("rules")) run.restart()
      val watermark = if (event.hasNonNull("watermark")) Some(event.get("watermark").asLong) else None
      run.batch(rows.read(event.path("rows")), watermark, event.path("clock").asLong)
    }.map(rows.shown(_, step.columns.output)).mkString("[", ",", "]")
    val counts = json.writeValueAsString(run.counts.value)
    s"""{"events": $events, "counts": $counts, "keys": ${run.keys}, "schema": ${step.columns.output.json}}"""
  }
}

/** All keys of a step in memory, batch after batch. */
final class InOrderRun(step: InOrderStep) {
  val counts: Counts = Counts.local()
  private var logic = new InOrderLogic(step, counts)
  private val out = new TaggedRows(step.columns, counts)
  private val stores = mutable.LinkedHashMap.empty[UnsafeRow, MemoryStore]
  private var watermark = Time.None

  /** Forgets all but what is in the state, as a new process would. */
  def restart(): Unit = logic = new InOrderLogic(step, counts)

  /** One micro-batch: rows first where the watermark lets them, then timers; what came out. */
  def batch(events: Seq[InternalRow], moved: Option[Long], clock: Long): Seq[InternalRow] = {
    moved.foreach(w => watermark = math.max(watermark, w))
    val now = Now(if (step.clockTime) math.max(clock, watermark) else watermark, clock)
    val groups = mutable.LinkedHashMap.empty[UnsafeRow, mutable.ArrayBuffer[InternalRow]]
    events.map(step.columns.complete(_).copy()).foreach { row =>
      groups.getOrElseUpdate(step.columns.keyOf(row).copy(), mutable.ArrayBuffer.empty) += row
    }
    groups.foreach { case (key, rows) =>
      logic.rows(key, stores.getOrElseUpdate(key, new MemoryStore), step.columns.events(rows.iterator), now, out)
    }
    val time = Time.floor(if (step.clockTime) clock else watermark)
    stores.foreach { case (key, store) => store.due(time).foreach(logic.visit(key, store, _, now, out)) }
    out.take().toVector
  }

  /** Keys that something is remembered of. */
  def keys: Int = stores.values.count(_.size > 0)
}
