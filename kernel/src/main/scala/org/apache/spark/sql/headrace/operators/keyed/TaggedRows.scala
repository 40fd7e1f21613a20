package org.apache.spark.sql.headrace.operators.keyed

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.{Counts, Event, Now}

/** Receives the results of a step: rows of one of the step's outputs. */
trait StepOutput {
  /** Emits a result. `row` is null if `takes(output)` is false. */
  def emit(output: Int, row: InternalRow): Unit

  /** False if rows of this output are only counted and need not be built. */
  def takes(output: Int): Boolean = true

  /** Counts a processed row that had no result. */
  def countUnmatched(): Unit = ()
}

/** Collects tagged rows and counts those of side outputs. */
final class TaggedRows(columns: StepColumns, counts: Counts) extends StepOutput {
  private val rows = mutable.ArrayBuffer.empty[InternalRow]
  override def takes(output: Int): Boolean = columns.emits(output)

  override def emit(output: Int, row: InternalRow): Unit = {
    if (output == columns.timeouts) counts.add(Counts.TimedOut, 1)
    if (row != null) rows += columns.tag(output, row)
  }

  override def countUnmatched(): Unit = {
    counts.add(Counts.Processed, -1)
    counts.add(Counts.Unmatched, 1)
  }

  /** Emits a late row; `window` is its last window, null if there is none. */
  def late(event: Event, now: Now, reason: String, window: InternalRow = null): Unit = {
    counts.add(Counts.Late, 1)
    if (columns.emitsLate) rows += columns.late(event, now, reason, window)
  }

  /** Returns and clears the collected rows. */
  def take(): Iterator[InternalRow] = {
    val taken = rows.toArray
    rows.clear()
    taken.iterator
  }
}
