package org.apache.spark.sql.headrace.operators.keyed

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.headrace.operators.{Counts, Now, OperatorPlan, ScriptRows, StepTime, Time}
import org.apache.spark.sql.headrace.operators.state.MemoryStore
import org.apache.spark.sql.types.StructType

/**
 * Runs a keyed step without a streaming query: the same per-key logic over in-memory state, for tests in
 * virtual time.
 *
 * One event is one micro-batch: `{"rows": [...], "watermark": micros | null, "clock": micros}`; without a
 * watermark the last one holds. With `"restart": true` the run crashes before the event and resumes from its
 * state; with `"dies": true` it crashes in it, so the event runs twice from the same state. `doomed` is the
 * output of the first attempt. `"rules"` in an event replaces the rules before it.
 *
 * @param columns the columns of script rows
 * @param prepare computes the input of the step
 */
final class KeyedDriver private (step: KeyedStep, columns: StructType, prepare: InternalRow => InternalRow) {
  /** Runs scripts with the rows of the step's input frame. */
  def this(step: KeyedStep) = this(step, StepColumns.struct(step.columns.source), (row: InternalRow) => row)

  /** Runs scripts with the rows of `source`, to which the step's input frame adds columns. */
  def this(step: KeyedStep, source: Dataset[Row], frame: Dataset[Row]) =
    this(step, source.schema, KeyedDriver.addColumns(source, frame))

  private val json = new ObjectMapper
  private val rows = new ScriptRows(columns)

  /** Runs a script from an empty state. Returns rows, counts, rows in open windows, keys, and the schema. */
  def run(script: String): String = {
    var run = new KeyedRun(step)
    val (events, doomed) = json.readTree(script).elements.asScala.map { event =>
      loadRules(event)
      if (event.path("restart").asBoolean || event.hasNonNull("rules")) run = run.restart(run.counts)
      val first = if (event.path("dies").asBoolean) runEvent(run.restart(Counts.local()), event) else "null"
      if (event.path("dies").asBoolean) run = run.restart(run.counts)
      (runEvent(run, event), first)
    }.toVector.unzip
    s"""{"events": ${events.mkString("[", ",", "]")}, "doomed": ${doomed.mkString("[", ",", "]")},
       |"counts": ${run.counts.asJson}, "open": ${run.open}, "keys": ${run.keys},
       |"schema": ${step.columns.output.json}}""".stripMargin
  }

  private def loadRules(event: JsonNode): Unit = step match {
    case reloadable: ReloadableStep if event.hasNonNull("rules") => reloadable.load(event.get("rules").asText)
    case _ =>
  }

  private def runEvent(run: KeyedRun, event: JsonNode): String = {
    val input = rows.read(event.path("rows")).map(row => step.columns.withAddedColumns(prepare(row)).copy())
    val watermark = if (event.hasNonNull("watermark")) Some(event.get("watermark").asLong) else None
    rows.toJson(run.batch(input, watermark, event.path("clock").asLong), step.columns.output)
  }
}

object KeyedDriver {
  private def addColumns(source: Dataset[Row], frame: Dataset[Row]): InternalRow => InternalRow =
    ReplaceExpressions(OperatorPlan.planOf(frame)) match {
      case Project(columns, child) if frame ne source => UnsafeProjection.create(columns, child.output)
      case _ => identity
    }
}

/** All keys of a step in memory. */
final class KeyedRun(step: KeyedStep, val counts: Counts = Counts.local()) {
  private val logic = step.logic(counts)
  private val out = new TaggedRows(step.columns, counts)
  private val stores = mutable.LinkedHashMap.empty[UnsafeRow, MemoryStore]
  private val byClock = step.time == StepTime.Clock
  private var watermark = Time.None

  /** Runs one micro-batch: rows first, then timers. Returns the output. */
  def batch(events: Seq[InternalRow], moved: Option[Long], clock: Long): Seq[InternalRow] = {
    val before = watermark
    moved.foreach(w => watermark = math.max(watermark, w))
    val now = Now(if (step.clockTime) math.max(clock, watermark) else watermark, clock)
    val groups = mutable.LinkedHashMap.empty[UnsafeRow, mutable.ArrayBuffer[InternalRow]]
    events.foreach { row =>
      groups.getOrElseUpdate(step.columns.keyOf(row).copy(), mutable.ArrayBuffer.empty) += row
    }
    groups.foreach { case (key, rows) =>
      logic.onRows(
        key, stores.getOrElseUpdate(key, new MemoryStore), step.columns.events(rows.iterator), now, out)
    }
    val time = Time.floor(if (byClock) clock else watermark)
    stores.foreach { case (key, store) =>
      store.due(time).foreach(logic.onTimer(key, store, _, now, out))
      if (byClock && watermark != before) logic.onTimer(key, store, time, now, out)
    }
    out.take().toVector
  }

  /** Restarts from the stored state, timers and watermark. */
  def restart(newCounts: Counts): KeyedRun = {
    val again = new KeyedRun(step, newCounts)
    stores.foreach { case (key, store) => again.stores.put(key.copy(), store.deepCopy) }
    again.watermark = watermark
    again
  }

  /** Number of keys with state. */
  def keys: Int = stores.values.count(_.size > 0)

  /** Rows in open windows, counted once per window. */
  def open: Long = {
    val values = counts.value
    values.get("assigned") - values.get("emitted") - values.get("dropped") - values.get("expired")
  }
}
