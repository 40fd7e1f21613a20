package org.apache.spark.sql.headrace.windows

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.headrace.operators.state.MemoryStore
import org.apache.spark.sql.headrace.operators.{Counts, Now, ScriptRows, Time}
import org.apache.spark.sql.{Dataset, Row}

/**
 * Runs a step without a streaming query: the same per-key logic over in-memory state, for tests in virtual
 * time.
 *
 * One event is one micro-batch: `{"rows": [...], "watermark": micros | null, "clock": micros}`; without a
 * watermark the last one holds. With `"restart": true` the run crashes before the event and resumes from its
 * state; with `"dies": true` it crashes in it, so the event runs twice from the same state. `doomed` is the
 * output of the first attempt.
 *
 * @param source the columns of script rows
 * @param frame `source` with the columns that the window needs
 */
final class WindowDriver(source: Dataset[Row], frame: Dataset[Row], grouped: Dataset[Row], spec: String) {
  private var step = WindowStep(frame, grouped, spec)
  private val json = new ObjectMapper
  private val rows = new ScriptRows(source.schema)
  private val conditions = WindowDriver.conditions(source, frame)

  /** Runs a script from an empty state. Returns rows, counts, rows in open windows, and the schema. */
  def run(spec: String, script: String): String = synchronized {
    step = WindowStep(step.layout.withKind(WindowingSpec.parse(spec).kind), step.aggregates, step.keys,
      WindowingSpec.parse(spec))
    var keyed = new WindowRun(step)
    val (events, doomed) = json.readTree(script).elements.asScala.map { event =>
      if (event.path("restart").asBoolean) keyed = keyed.restart(keyed.counts)
      val first = if (event.path("dies").asBoolean) runEvent(keyed.restart(Counts.local()), event) else "null"
      if (event.path("dies").asBoolean) keyed = keyed.restart(keyed.counts)
      (runEvent(keyed, event), first)
    }.toVector.unzip
    val counts = json.writeValueAsString(keyed.counts.value)
    s"""{"events": ${events.mkString("[", ",", "]")}, "doomed": ${doomed
        .mkString("[", ",", "]")}, "counts": $counts,
       |"open": ${keyed.open}, "schema": ${step.layout.output.json}}""".stripMargin
  }

  private def runEvent(keyed: WindowRun, event: JsonNode): String = {
    val input = rows.read(event.path("rows")).map(row => conditions(row).copy())
    val watermark = if (event.hasNonNull("watermark")) Some(event.get("watermark").asLong) else None
    rows.toJson(keyed.batch(input, watermark, event.path("clock").asLong), step.layout.output)
  }
}

object WindowDriver {
  /** Computes the columns that `frame` adds to `source`. */
  private def conditions(source: Dataset[Row], frame: Dataset[Row]): InternalRow => InternalRow =
    ReplaceExpressions(WindowStep.plan(frame)) match {
      case Project(columns, child) if frame ne source => UnsafeProjection.create(columns, child.output)
      case _ => identity
    }
}

/** All keys of a step in memory. */
final class WindowRun(step: WindowStep, val counts: Counts = Counts.local()) {
  private val logic = step.logic(counts)
  private val rows = new WindowRows(step.layout, step.spec.kind)
  private val stores = mutable.LinkedHashMap.empty[UnsafeRow, MemoryStore]
  private var watermark = Time.None

  /** Runs one micro-batch: rows first, then timers. Returns the output. */
  def batch(events: Seq[InternalRow], moved: Option[Long], clock: Long): Seq[InternalRow] = {
    val before = watermark
    moved.foreach(w => watermark = math.max(watermark, w))
    val now = Now(if (step.spec.clockTime) math.max(clock, watermark) else watermark, clock)
    grouped(events).foreach { case (key, batch) =>
      val store = stores.getOrElseUpdate(key, new MemoryStore)
      logic.onRows(key, store, step.events(batch.iterator), now, rows)
    }
    val time = Time.floor(if (step.spec.byClock) clock else watermark)
    stores.foreach { case (key, store) =>
      store.due(time).foreach(at => logic.onTimer(key, store, at, now, rows))
      if (step.spec.byClock && watermark != before) logic.onTimer(key, store, time, now, rows)
    }
    rows.take().toVector
  }

  /** Restarts from the stored state, timers and watermark. */
  def restart(newCounts: Counts): WindowRun = {
    val again = new WindowRun(step, newCounts)
    stores.foreach { case (key, store) => again.stores.put(key.copy(), store.deepCopy) }
    again.watermark = watermark
    again
  }

  /** Rows in open windows, counted once per window. */
  def open: Long = {
    val values = counts.value
    values.get("placed") - values.get("settled") - values.get("lost") - values.get("forgotten")
  }

  /** Number of slots in use. */
  def slots: Int = stores.values.map(_.size).sum

  private def grouped(events: Seq[InternalRow]): Iterable[(UnsafeRow, Seq[InternalRow])] = {
    val groups = mutable.LinkedHashMap.empty[UnsafeRow, mutable.ArrayBuffer[InternalRow]]
    events
      .foreach(row => groups.getOrElseUpdate(step.layout.keyOf(row).copy(), mutable.ArrayBuffer.empty) += row)
    groups.map { case (key, batch) => key -> batch.toSeq }
  }
}
