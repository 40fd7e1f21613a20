package org.apache.spark.sql.headrace.operators.state

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateUtils
import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreIterator, UnsafeRowPair}
import org.apache.spark.sql.streaming.TimeMode
import org.apache.spark.unsafe.Platform

/**
 * Spark's timers, set as the rows that Spark makes of them. Spark would look first whether there is such a timer: a window
 * knows its own, and setting one again changes nothing.
 */
final class TimerRows(store: StateStore, time: TimeMode) {
  private val (byKey, byTime) = TimerStateUtils.getTimerStateVarNames(time.toString)
  private val row = new UnsafeRow(2)
  private var bytes = new Array[Byte](256)
  private val nothing = {
    val one = new UnsafeRow(1)
    one.pointTo(new Array[Byte](16), 16)
    one.setNullAt(0)
    one
  }

  def set(key: UnsafeRow, millis: Long): Unit = {
    store.put(filled(key, keyAt = 8, timeAt = 16, millis), nothing, byKey)
    setByTime(key, millis)
  }

  /** Only where timers are found by their time; where a key knows its own, nobody looks for them by key. */
  def setByTime(key: UnsafeRow, millis: Long): Unit = store.put(timed(key, millis), nothing, byTime)
  def removeByTime(key: UnsafeRow, millis: Long): Unit = store.remove(timed(key, millis), byTime)

  /** All timers, the first one first: rows of a time and a key. */
  def scan(): StateStoreIterator[UnsafeRowPair] = store.rangeScan(None, None, byTime)

  private def timed(key: UnsafeRow, millis: Long): UnsafeRow = filled(key, keyAt = 16, timeAt = 8, millis)

  private def filled(key: UnsafeRow, keyAt: Int, timeAt: Int, millis: Long): UnsafeRow = {
    val size = key.getSizeInBytes
    if (bytes.length < 24 + size) bytes = new Array[Byte](2 * (24 + size))
    val base = Platform.BYTE_ARRAY_OFFSET
    Platform.putLong(bytes, base, 0L)
    Platform.putLong(bytes, base + keyAt, (24L << 32) | size)
    Platform.putLong(bytes, base + timeAt, millis)
    Platform.copyMemory(key.getBaseObject, key.getBaseOffset, bytes, base + 24, size)
    row.pointTo(bytes, 24 + size)
    row
  }
}
