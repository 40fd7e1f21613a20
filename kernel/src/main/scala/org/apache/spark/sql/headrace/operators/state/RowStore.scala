package org.apache.spark.sql.headrace.operators.state

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.streaming.{StatefulProcessorHandle, ValueState}
import org.apache.spark.unsafe.Platform

/**
 * State of one key in Spark's state store. Reads and writes the same bytes as Spark's map state,
 * without its encoders, which convert every key.
 *
 * @param variable the name of the map state variable
 */
class RowStore(
    handle: StatefulProcessorHandle, store: StateStore, ages: ValueState[Array[Byte]], timers: TimerRows,
    variable: String = RowStore.Name)
    extends SlotStore {
  protected val slots: SlotRow = new SlotRow(2)
  private val values = new ValueRow

  /** Selects the key of the following calls. */
  def bind(key: UnsafeRow): Unit = slots.bind(key)

  override def get(slot: Long): Array[Byte] = read(slots.at(slot))
  override def put(slot: Long, value: Array[Byte]): Unit = write(slots.at(slot), value)
  override def remove(slot: Long): Unit = store.remove(slots.at(slot), variable)
  override def all: Iterator[(Long, Array[Byte])] = {
    val scan = store.prefixScan(slots.prefix, variable)
    try scan.map(pair => SlotRow.slot(pair.key) -> pair.value.getBinary(0)).toVector.iterator finally scan.close()
  }

  override def age: Array[Byte] = ages.get()
  override def age_=(value: Array[Byte]): Unit = ages.update(value)
  override def clear(): Unit = {
    all.foreach { case (slot, _) => remove(slot) }
    ages.clear()
    handle.listTimers().toVector.foreach(handle.deleteTimer)
  }
  override def setTimer(millis: Long): Unit = timers.set(slots.key, millis)

  protected def read(key: UnsafeRow): Array[Byte] = {
    val stored = store.get(key, variable)
    if (stored == null) null else stored.getBinary(0)
  }

  protected def write(key: UnsafeRow, value: Array[Byte]): Unit =
    store.put(key, values.of(value), variable)
}

object RowStore {
  /** Name of the windows' map state variable. */
  val Name = "windows"
}

/** Builds the row Spark's map state stores a slot under: the key, then the slot as a struct. */
final class SlotRow(fields: Int) {
  private val fixed = 8 + 8 * fields
  private val row = new UnsafeRow(fields)
  private var bytes = new Array[Byte](256)
  private var slotAt = 0L
  var key: UnsafeRow = _

  def bind(next: UnsafeRow): Unit = {
    key = next
    val size = next.getSizeInBytes
    val whole = fixed + size + 16
    if (bytes.length < whole) bytes = new Array[Byte](whole * 2)
    val base = Platform.BYTE_ARRAY_OFFSET
    Platform.putLong(bytes, base, 0L)
    Platform.putLong(bytes, base + 8, (fixed.toLong << 32) | size)
    Platform.putLong(bytes, base + 16, ((fixed + size).toLong << 32) | 16L)
    Platform.copyMemory(next.getBaseObject, next.getBaseOffset, bytes, base + fixed, size)
    Platform.putLong(bytes, base + fixed + size, 0L)
    slotAt = base + fixed + size + 8
    row.pointTo(bytes, whole)
  }

  /** Row of a slot, valid until the next call. */
  def at(slot: Long): UnsafeRow = {
    Platform.putLong(bytes, slotAt, slot)
    row
  }

  /** Row of a slot with its due time as third column. */
  def at(slot: Long, due: Long): UnsafeRow = {
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + 24, due)
    at(slot)
  }

  /** Prefix row of all slots of the key. */
  def prefix: UnsafeRow = {
    val size = key.getSizeInBytes
    val only = new Array[Byte](16 + size)
    Platform.putLong(only, Platform.BYTE_ARRAY_OFFSET + 8, (16L << 32) | size)
    Platform.copyMemory(key.getBaseObject, key.getBaseOffset, only, Platform.BYTE_ARRAY_OFFSET + 16, size)
    val prefixRow = new UnsafeRow(1)
    prefixRow.pointTo(only, only.length)
    prefixRow
  }
}

object SlotRow {
  def slot(row: UnsafeRow): Long = row.getStruct(1, 1).getLong(0)
}

/** Builds the row that Spark's encoder makes of a byte array. */
final class ValueRow {
  private val row = new UnsafeRow(1)
  private var bytes = new Array[Byte](256)

  def of(value: Array[Byte]): UnsafeRow = {
    val padded = (value.length + 7) & ~7
    if (bytes.length < 16 + padded) bytes = new Array[Byte](32 + 2 * padded)
    val base = Platform.BYTE_ARRAY_OFFSET
    Platform.putLong(bytes, base, 0L)
    Platform.putLong(bytes, base + 8, (16L << 32) | value.length)
    if (padded > 0) Platform.putLong(bytes, base + 8 + padded, 0L)
    Platform.copyMemory(value, base, bytes, base + 16, value.length)
    row.pointTo(bytes, 16 + padded)
    row
  }
}
