package org.apache.spark.sql.headrace.operators.state

import java.util.{Arrays, Comparator}

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.Event
import org.apache.spark.unsafe.Platform

/** A buffered row and its event time. */
final class BufferedRow(val time: Long, val row: UnsafeRow) {
  def event: Event = Event(row, Some(time))
}

object BufferedRow {
  val byTime: Comparator[BufferedRow] = (a, b) => java.lang.Long.compare(a.time, b.time)
}

/** Buffered rows as consecutive bytes: time, length, number of columns, row. */
final class RowChunk {
  private var bytes = new Array[Byte](RowChunk.First)
  private var used = 0
  var earliest: Long = Long.MaxValue
  def size: Int = used
  def toBytes: Array[Byte] = Arrays.copyOf(bytes, used)
  def writeTo(out: Output): Unit = out.writeBytes(bytes, 0, used)

  def clear(): Unit = {
    used = 0
    earliest = Long.MaxValue
  }

  def add(time: Long, row: UnsafeRow): Unit = {
    val length = row.getSizeInBytes
    reserve(RowChunk.Head + length)
    val at = Platform.BYTE_ARRAY_OFFSET + used
    Platform.putLong(bytes, at, time)
    Platform.putInt(bytes, at + 8, length)
    Platform.putInt(bytes, at + 12, row.numFields)
    Platform.copyMemory(row.getBaseObject, row.getBaseOffset, bytes, at + RowChunk.Head, length)
    used += RowChunk.Head + length
    earliest = math.min(earliest, time)
  }

  private def reserve(more: Int): Unit =
    if (used + more > bytes.length) bytes = Arrays.copyOf(bytes, math.max(bytes.length * 2, used + more))
}

object RowChunk {
  private val First = 512
  private val Head = 16

  /** Iterates the rows of a chunk in insertion order. They point into `bytes`. */
  def rows(bytes: Array[Byte], from: Int, until: Int): Iterator[BufferedRow] = new Iterator[BufferedRow] {
    private var place = from
    override def hasNext: Boolean = place < until
    override def next(): BufferedRow = {
      val at = Platform.BYTE_ARRAY_OFFSET + place
      val length = Platform.getInt(bytes, at + 8)
      val row = new UnsafeRow(Platform.getInt(bytes, at + 12))
      row.pointTo(bytes, at + Head, length)
      place += Head + length
      new BufferedRow(Platform.getLong(bytes, at), row)
    }
  }
}

/**
 * Rows of one key that wait for the watermark.
 *
 * The newest rows, up to `TailBytes`, are part of the key's own entry (the tail); older ones are chunks in
 * slots of their own. A chunk is read only when the watermark reaches its earliest row, so a slow watermark
 * does not make every micro-batch rewrite all buffered rows.
 */
final class OrderedBuffer {
  /** Slots of the chunks and their earliest times, oldest chunk first. */
  private val slots = mutable.ArrayBuffer.empty[Long]
  private val earliestTimes = mutable.ArrayBuffer.empty[Long]
  private var tail = Array.emptyByteArray
  private var tailFrom = 0
  private var tailFirst = Long.MaxValue
  private val added = new RowChunk

  /** Event time of the earliest buffered row. */
  def earliest: Long = {
    var first = math.min(tailFirst, added.earliest)
    earliestTimes.foreach(time => first = math.min(first, time))
    first
  }

  def add(time: Long, row: UnsafeRow): Unit = added.add(time, row)

  /** Removes and returns the rows before a time, by time, then arrival. Must precede `add`. */
  def release(before: Long, store: SlotStore): Array[BufferedRow] = {
    val released = mutable.ArrayBuffer.empty[BufferedRow]
    var i = 0
    while (i < slots.size) {
      if (earliestTimes(i) >= before) i += 1
      else {
        val bytes = store.get(slots(i))
        val rest = split(RowChunk.rows(bytes, 0, bytes.length), before, released)
        if (rest.size == 0) {
          store.remove(slots.remove(i))
          earliestTimes.remove(i)
        } else {
          store.put(slots(i), rest.toBytes)
          earliestTimes(i) = rest.earliest
          i += 1
        }
      }
    }
    if (tailFirst < before) {
      val rest = split(RowChunk.rows(tail, tailFrom, tail.length), before, released)
      tail = rest.toBytes
      tailFrom = 0
      tailFirst = rest.earliest
    }
    val sorted = released.toArray
    Arrays.sort(sorted, BufferedRow.byTime)
    sorted
  }

  /** Writes the tail and the chunk index; a full tail becomes a chunk first. */
  def write(out: Output, store: SlotStore): Unit = {
    if (tail.length - tailFrom + added.size > OrderedBuffer.TailBytes) spill(store)
    out.writeVarInt(slots.size, true)
    slots.indices.foreach { i =>
      out.writeVarLong(slots(i), true)
      out.writeLong(earliestTimes(i))
    }
    out.writeLong(math.min(tailFirst, added.earliest))
    out.writeBytes(tail, tailFrom, tail.length - tailFrom)
    added.writeTo(out)
  }

  /** Reads what `write` wrote, from `in` to the end of `bytes`. */
  def read(in: Input, bytes: Array[Byte]): Unit = {
    (0 until in.readVarInt(true)).foreach { _ =>
      slots += in.readVarLong(true)
      earliestTimes += in.readLong()
    }
    tailFirst = in.readLong()
    tail = bytes
    tailFrom = in.position()
  }

  /** Rows in the key's own entry. */
  def tailRows: Iterator[BufferedRow] = RowChunk.rows(tail, tailFrom, tail.length)

  private def split(
      rows: Iterator[BufferedRow], before: Long, released: mutable.ArrayBuffer[BufferedRow]): RowChunk = {
    val rest = new RowChunk
    rows.foreach(held => if (held.time < before) released += held else rest.add(held.time, held.row))
    rest
  }

  private def spill(store: SlotStore): Unit = {
    val out = new Output(tail.length - tailFrom + added.size)
    out.writeBytes(tail, tailFrom, tail.length - tailFrom)
    added.writeTo(out)
    val slot = if (slots.isEmpty) 1L else slots.last + 1
    store.put(slot, out.toBytes)
    slots += slot
    earliestTimes += math.min(tailFirst, added.earliest)
    tail = Array.emptyByteArray
    tailFrom = 0
    tailFirst = Long.MaxValue
    added.clear()
  }
}

object OrderedBuffer {
  private val TailBytes = 16 * 1024
}
