package org.apache.spark.sql.headrace.operators.state

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateUtils
import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreIterator, UnsafeRowPair}
import org.apache.spark.sql.streaming.TimeMode
import org.apache.spark.unsafe.Platform

/**
 * Writes Spark's timers as the rows Spark makes of them, without Spark's lookup whether the timer
 * exists.
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
    store.put(buildRow(key, keyAt = 8, timeAt = 16, millis), nothing, byKey)
    setByTime(key, millis)
  }

  /** Sets a timer in the index by time only, for keys that store their own timer. */
  def setByTime(key: UnsafeRow, millis: Long): Unit = store.put(timed(key, millis), nothing, byTime)
  def removeByTime(key: UnsafeRow, millis: Long): Unit = store.remove(timed(key, millis), byTime)

  /** Iterates all timers in order: rows of time and key. */
  def scan(): StateStoreIterator[UnsafeRowPair] = store.rangeScan(None, None, byTime)

  private def timed(key: UnsafeRow, millis: Long): UnsafeRow = buildRow(key, keyAt = 16, timeAt = 8, millis)

  private def buildRow(key: UnsafeRow, keyAt: Int, timeAt: Int, millis: Long): UnsafeRow = {
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
