package org.apache.spark.sql.headrace.operators.inorder

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow

/** Where a matcher's results go: rows of one of the step's outputs, as its layout declares them. */
trait MatchOutput {
  /** A result; its row is null where nobody `takes` it. */
  def emit(output: Int, row: InternalRow): Unit

  /** Whether rows of an output are wanted; others are counted only, and need not be made. */
  def takes(output: Int): Boolean = true
}

/**
 * Finds something among the rows of one key, which it is given in order. Knows nothing of Spark's state, of batches or of
 * rows that wait: `InOrderLogic` does all that, for every matcher.
 */
trait Matcher {
  /** What a key remembers. Mutable: it lives for one call between two states. */
  type Memory

  def empty: Memory

  /** Whether a key that remembers this might as well be forgotten. */
  def isEmpty(memory: Memory): Boolean

  def read(in: Input): Memory

  /** How many partial matches were left out when this was read: those that nobody looks for any more. */
  def dropped(memory: Memory): Int = 0

  def write(memory: Memory, out: Output): Unit

  /** The next row, after `advance` to its time. The row may be kept: it is a copy. */
  def take(key: InternalRow, memory: Memory, row: InternalRow, time: Long, out: MatchOutput): Unit

  /** It is this late now: no row before it will come (in arrival order: the row that comes has this time). */
  def advance(key: InternalRow, memory: Memory, time: Long, out: MatchOutput): Unit

  /** Nothing more will come. */
  def finish(key: InternalRow, memory: Memory, out: MatchOutput): Unit

  /** The event time at which it wants `advance` though no row comes: `Time.End` for the end, Long.MaxValue for never. */
  def due(memory: Memory): Long
}
