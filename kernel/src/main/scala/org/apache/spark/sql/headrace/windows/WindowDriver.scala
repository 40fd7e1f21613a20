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
 * A step without a streaming query: the same per-key logic over state in memory, for tests in virtual time.
 *
 * One event is one micro-batch: `{"rows": [...], "watermark": micros | null, "clock": micros}`; without a
 * watermark the last one holds. Times are whole microseconds in both directions. With `"restart": true` the run dies
 * before the event, and goes on from the bytes of its state; with `"dies": true` it dies in it: the event is done twice,
 * each time from the state before. What it gave the first time is in `doomed`.
 *
 * @param source the columns that rows have
 * @param frame `source` with the columns that the window looks at, or `source` itself
 */
final class WindowDriver(source: Dataset[Row], frame: Dataset[Row], grouped: Dataset[Row], spec: String) {
  private var step = WindowStep(frame, grouped, spec)
  private val json = new ObjectMapper
  private val rows = new ScriptRows(source.schema)
  private val conditions = WindowDriver.conditions(source, frame)

  /** Runs a script from an empty state; gives what events emitted, also before a death, counts, rows left open, schema. */
  def run(spec: String, script: String): String = synchronized {
    step = WindowStep(step.layout.withKind(WindowingSpec.parse(spec).kind), step.aggregates, step.keys, WindowingSpec.parse(spec))
    var keyed = new WindowRun(step)
    val (events, doomed) = json.readTree(script).elements.asScala.map { event =>
      if (event.path("restart").asBoolean) keyed = keyed.restarted(keyed.counts)
      val first = if (event.path("dies").asBoolean) emitted(keyed.restarted(Counts.local()), event) else "null"
      if (event.path("dies").asBoolean) keyed = keyed.restarted(keyed.counts)
      (emitted(keyed, event), first)
    }.toVector.unzip
    val counts = json.writeValueAsString(keyed.counts.value)
    s"""{"events": ${events.mkString("[", ",", "]")}, "doomed": ${doomed.mkString("[", ",", "]")}, "counts": $counts,
       |"open": ${keyed.open}, "schema": ${step.layout.output.json}}""".stripMargin
  }

  /** What one event gives. */
  private def emitted(keyed: WindowRun, event: JsonNode): String = {
    val input = rows.read(event.path("rows")).map(row => conditions(row).copy())
    val watermark = if (event.hasNonNull("watermark")) Some(event.get("watermark").asLong) else None
    rows.toJson(keyed.batch(input, watermark, event.path("clock").asLong), step.layout.output)
  }
}

object WindowDriver {
  /** Adds to a row of `source` what `frame` has besides: the conditions of windows. */
  private def conditions(source: Dataset[Row], frame: Dataset[Row]): InternalRow => InternalRow =
    ReplaceExpressions(WindowStep.plan(frame)) match {
      case Project(columns, child) if frame ne source => UnsafeProjection.create(columns, child.output)
      case _ => identity
    }
}

/** All keys of a step in memory, batch after batch. */
final class WindowRun(step: WindowStep, val counts: Counts = Counts.local()) {
  private val logic = step.logic(counts)
  private val rows = new WindowRows(step.layout, step.spec.kind)
  private val stores = mutable.LinkedHashMap.empty[UnsafeRow, MemoryStore]
  private var watermark = Time.None

  /** One micro-batch: rows first where the watermark lets them, then timers; what came out. */
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

  /** The run after a death: all it has of this one are the bytes of the state, the timers and the watermark. */
  def restarted(counting: Counts): WindowRun = {
    val again = new WindowRun(step, counting)
    stores.foreach { case (key, store) => again.stores.put(key.copy(), store.deepCopy) }
    again.watermark = watermark
    again
  }

  /** WindowRows in open windows, counted once for each. */
  def open: Long = {
    val values = counts.value
    values.get("placed") - values.get("settled") - values.get("lost") - values.get("forgotten")
  }

  /** Slots in use, over all keys. */
  def slots: Int = stores.values.map(_.size).sum

  private def grouped(events: Seq[InternalRow]): Iterable[(UnsafeRow, Seq[InternalRow])] = {
    val groups = mutable.LinkedHashMap.empty[UnsafeRow, mutable.ArrayBuffer[InternalRow]]
    events.foreach(row => groups.getOrElseUpdate(step.layout.keyOf(row).copy(), mutable.ArrayBuffer.empty) += row)
    groups.map { case (key, batch) => key -> batch.toSeq }
  }
}
