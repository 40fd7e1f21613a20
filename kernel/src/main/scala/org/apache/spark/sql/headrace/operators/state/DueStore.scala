package org.apache.spark.sql.headrace.operators.state

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.headrace.compat.{DueKeys, SparkApi}
import org.apache.spark.unsafe.Platform
import org.apache.spark.util.NextIterator

/**
 * Slots of all keys in a partition, ordered by due time. An aligned window is due at its end and at the end
 * of its lateness, so its state key doubles as its timer; Spark's timers would need two more entries per
 * visit.
 *
 * @param width number of key columns
 */
final class DueStore(store: StateStore, variable: String, width: Int) extends SlotStore with DueKeys {
  private val slots = new SlotRow(3)
  private val values = new ValueRow
  private var dueEntry: (Long, Array[Byte]) = _
  // Lower bound of the next due time; real-time mode polls after every row.
  private var nextDue = Long.MinValue
  override def bind(key: UnsafeRow): Unit = slots.bind(key)
  override def get(slot: Long, due: Long): Array[Byte] = {
    val stored = store.get(slots.at(slot, due), variable)
    if (stored == null) null else stored.getBinary(0)
  }
  override def put(slot: Long, value: Array[Byte], due: Long): Unit = {
    nextDue = math.min(nextDue, due)
    store.put(slots.at(slot, due), values.of(value), variable)
  }
  override def mark(slot: Long, due: Long): Unit = put(slot, Array.emptyByteArray, due)
  override def dueSlot: Option[(Long, Array[Byte])] = Option(dueEntry)
  override def remove(slot: Long): Unit = ()
  override def setTimer(millis: Long): Unit = ()
  override def get(slot: Long): Array[Byte] = unsupported
  override def put(slot: Long, value: Array[Byte]): Unit = unsupported
  override def all: Iterator[(Long, Array[Byte])] = unsupported
  override def clear(): Unit = unsupported
  private def unsupported: Nothing =
    throw new UnsupportedOperationException("slots are addressed with their due time")

  /** Iterates keys and due times up to `until`; the scanned range is deleted at the end. */
  override def timersUntil(until: Long): Iterator[(Any, Long)] =
    if (until < nextDue) Iterator.empty
    else {
      nextDue = Long.MaxValue
      dueEntries(until)
    }

  private def dueEntries(until: Long): Iterator[(Any, Long)] = new NextIterator[(Any, Long)] {
    private val scan = SparkApi.scan(store, variable)
    private var first, last: UnsafeRow = _

    override protected def getNext(): (Any, Long) = {
      val pair = if (scan.hasNext) scan.next() else null
      if (pair == null || pair.key.getLong(2) > until) {
        finished = true
        if (pair != null) nextDue = math.min(nextDue, pair.key.getLong(2))
        dueEntry = null
        null
      } else {
        last = pair.key.copy()
        if (first == null) first = last
        dueEntry = SlotRow.slot(last) -> pair.value.getBinary(0)
        (last.getStruct(0, width), last.getLong(2))
      }
    }

    // Slots written meanwhile are due later, outside the deleted range.
    override protected def close(): Unit = {
      scan.close()
      if (last ne first) SparkApi.deleteRange(store, first, last, variable)
      if (last != null) store.remove(last, variable)
    }
  }
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
