package org.apache.spark.sql.headrace.operators.keyed

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.inorder.{StepColumns, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Counts, Event, Now}

/**
 * A step with state per key that processes rows as they arrive, such as a join. The rows of a step with two
 * inputs are tagged: of the columns `left` and `right`, that of the other side is null.
 */
trait KeyedStep extends Serializable {
  def columns: StepColumns

  /** True if the clock is the watermark: ingestion and processing time. */
  def clockTime: Boolean

  /** Name of the state variable. */
  def variable: String

  /** True if each slot has a due time that follows from its number, so that the store can order slots by it. */
  def dueByTime: Boolean

  /** Creates the logic for one task. */
  def logic(counts: Counts): KeyedLogic
}

/** Applies a step to the state of one key. */
trait KeyedLogic {
  /** Processes the rows of one key in a micro-batch, in arrival order. The rows are copies. */
  def onRows(key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit

  /** Processes an expired timer of the key, or a slot that is due; the store has already removed it. */
  def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit
}
