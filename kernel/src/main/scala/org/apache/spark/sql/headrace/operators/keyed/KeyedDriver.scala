package org.apache.spark.sql.headrace.operators.keyed

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.state.MemoryStore
import org.apache.spark.sql.headrace.operators.{Counts, Now, ScriptRows, Time}

/**
 * Runs a keyed step without a streaming query: the same per-key logic over in-memory state, for tests in
 * virtual time. Uses the scripts of `WindowDriver`; `"rules"` in an event replaces the rules before it.
 */
final class KeyedDriver(step: KeyedStep) {
  private val json = new ObjectMapper
  private val rows = new ScriptRows(StepColumns.struct(step.columns.source))

  /** Runs a script from an empty state. Returns rows, counts, keys with state, and the schema. */
  def run(script: String): String = {
    val run = new KeyedRun(step)
    val events = json.readTree(script).elements.asScala.map { event =>
      step match {
        case changing: ReloadableStep if event.hasNonNull("rules") => changing.load(event.get("rules").asText)
        case _ =>
      }
      if (event.path("restart").asBoolean || event.hasNonNull("rules")) run.restart()
      val watermark = if (event.hasNonNull("watermark")) Some(event.get("watermark").asLong) else None
      run.batch(rows.read(event.path("rows")), watermark, event.path("clock").asLong)
    }.map(rows.toJson(_, step.columns.output)).mkString("[", ",", "]")
    val counts = json.writeValueAsString(run.counts.value)
    s"""{"events": $events, "counts": $counts, "keys": ${run.keys}, "schema": ${step.columns.output.json}}"""
  }
}

/** All keys of a step in memory. */
final class KeyedRun(step: KeyedStep) {
  val counts: Counts = Counts.local()
  private var logic = step.logic(counts)
  private val out = new TaggedRows(step.columns, counts)
  private val stores = mutable.LinkedHashMap.empty[UnsafeRow, MemoryStore]
  private var watermark = Time.None

  /** Drops everything but the stored state, as a new process would. */
  def restart(): Unit = logic = step.logic(counts)

  /** Runs one micro-batch: rows first, then timers. Returns the output. */
  def batch(events: Seq[InternalRow], moved: Option[Long], clock: Long): Seq[InternalRow] = {
    moved.foreach(w => watermark = math.max(watermark, w))
    val now = Now(if (step.clockTime) math.max(clock, watermark) else watermark, clock)
    val groups = mutable.LinkedHashMap.empty[UnsafeRow, mutable.ArrayBuffer[InternalRow]]
    events.map(step.columns.withAddedColumns(_).copy()).foreach { row =>
      groups.getOrElseUpdate(step.columns.keyOf(row).copy(), mutable.ArrayBuffer.empty) += row
    }
    groups.foreach { case (key, rows) =>
      logic.onRows(
        key, stores.getOrElseUpdate(key, new MemoryStore), step.columns.events(rows.iterator), now, out)
    }
    val time = Time.floor(if (step.clockTime) clock else watermark)
    stores.foreach { case (key, store) => store.due(time).foreach(logic.onTimer(key, store, _, now, out)) }
    out.take().toVector
  }

  /** Number of keys with state. */
  def keys: Int = stores.values.count(_.size > 0)
}
