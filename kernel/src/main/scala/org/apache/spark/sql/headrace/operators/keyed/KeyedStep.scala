package org.apache.spark.sql.headrace.operators.keyed

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.operators.state.{MemoryStore, SlotStore}
import org.apache.spark.sql.headrace.operators.{Counts, Event, Now, StepTime, Time}

/**
 * A step with state per key: windows, a join, a table, a pattern. The rows of a step with two inputs are
 * tagged: of the columns `left` and `right`, that of the other side is null.
 */
trait KeyedStep extends Serializable {
  def columns: StepColumns

  /** What the watermark and the timers of the step follow. */
  def time: StepTime.Value

  /** Name of the state variable. */
  def variable: String

  /** True if the state includes the age of each key. */
  def hasAge: Boolean = false

  /** True if the due time of a slot follows from its number, so that the store can order slots by it. */
  def dueByTime: Boolean = false

  def logic(counts: Counts): KeyedLogic

  /** Adds nodes to the input of a stream, before the shuffle. */
  def beforeShuffle(session: SparkSession, input: LogicalPlan, counts: Counts): LogicalPlan = input

  /** Converts the tagged rows of one key of a batch, after its end. */
  def batchOutput(rows: Iterator[InternalRow]): Iterator[InternalRow] = rows

  /** True if the clock is the watermark: ingestion and processing time. */
  def clockTime: Boolean = time == StepTime.Clock
}

/** A step whose rules can be replaced between micro-batches. */
trait ReloadableStep {
  def load(rules: String): Unit
}

/** Applies a step to the state of one key. Within a call the watermark is applied first. */
trait KeyedLogic {
  /** Processes the rows of one key in a micro-batch, in arrival order. The rows are copies. */
  def onRows(key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit

  /**
   * Processes an expired timer of the key, or a slot that is due; the store has already removed it.
   *
   * @param due its millisecond
   */
  def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = ()

  /** Processes all rows of one key of a batch, then the end of the input. */
  def onBatch(key: InternalRow, events: Iterator[Event], out: TaggedRows): Unit = {
    val (store, end) = (new MemoryStore, Now(Time.End, Time.End))
    onRows(key, store, events, Now(Time.None, 0), out)
    store.due(Time.floor(Time.End)).foreach(onTimer(key, store, _, end, out))
  }
}
