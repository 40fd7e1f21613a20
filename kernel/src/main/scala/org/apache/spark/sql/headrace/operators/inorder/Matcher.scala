package org.apache.spark.sql.headrace.operators.inorder

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.StepOutput

/** Finds matches among the rows of one key, which `InOrderLogic` passes in order. */
trait Matcher {
  /** State of one key; mutable, valid for one call. */
  type Memory
  def empty: Memory

  /** True if the state is equivalent to no state. */
  def isEmpty(memory: Memory): Boolean
  def read(in: Input): Memory

  /** Number of partial matches dropped on read because their rule is no longer active. */
  def countDropped(memory: Memory): Int = 0
  def write(memory: Memory, out: Output): Unit

  /** Processes the next row, after `advance` to its time. The row is a copy and may be stored. */
  def take(key: InternalRow, memory: Memory, row: InternalRow, time: Long, out: StepOutput): Unit

  /** Advances event time: no earlier row will follow. */
  def advance(key: InternalRow, memory: Memory, time: Long, out: StepOutput): Unit

  /** Processes the end of the input. */
  def finish(key: InternalRow, memory: Memory, out: StepOutput): Unit

  /** Event time at which `advance` must be called without a row; Long.MaxValue for never. */
  def due(memory: Memory): Long
}
