package org.apache.spark.sql.headrace.operators.state

import java.util.{Arrays, Comparator}

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.Event
import org.apache.spark.unsafe.Platform

/** A row that waits, and its event time. */
final class BufferedRow(val time: Long, val row: UnsafeRow) {
  def event: Event = Event(row, Some(time))
}

object BufferedRow {
  val byTime: Comparator[BufferedRow] = (a, b) => java.lang.Long.compare(a.time, b.time)
}

/** WindowRows that wait, one after the other as bytes: time, length, number of columns, the row itself. */
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

  /** The rows of a piece, in the order they were added. They point into the bytes. */
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
 * The rows of one key that wait for the watermark.
 *
 * The newest are kept inside the key's own entry (the tail), up to `Full` bytes; then they become a piece in a slot of its
 * own. A piece is read again only when the watermark has reached its earliest row, so that a watermark that stays far
 * behind doesn't make every batch read and write all that waits.
 */
final class OrderedBuffer {
  /** Slots of the pieces with their earliest times, the oldest piece first. */
  private val slots = mutable.ArrayBuffer.empty[Long]
  private val firsts = mutable.ArrayBuffer.empty[Long]
  private var tail = Array.emptyByteArray
  private var tailFrom = 0
  private var tailFirst = Long.MaxValue
  private val fresh = new RowChunk

  /** The event time of the earliest row that waits. */
  def earliest: Long = {
    var first = math.min(tailFirst, fresh.earliest)
    firsts.foreach(time => first = math.min(first, time))
    first
  }

  def add(time: Long, row: UnsafeRow): Unit = fresh.add(time, row)

  /** Takes out the rows before a time: by time, those of equal time as they came. Called before any is added. */
  def release(before: Long, store: SlotStore): Array[BufferedRow] = {
    val ready = mutable.ArrayBuffer.empty[BufferedRow]
    var i = 0
    while (i < slots.size) {
      if (firsts(i) >= before) i += 1
      else {
        val bytes = store.get(slots(i))
        val rest = split(RowChunk.rows(bytes, 0, bytes.length), before, ready)
        if (rest.size == 0) {
          store.remove(slots.remove(i))
          firsts.remove(i)
        } else {
          store.put(slots(i), rest.toBytes)
          firsts(i) = rest.earliest
          i += 1
        }
      }
    }
    if (tailFirst < before) {
      val rest = split(RowChunk.rows(tail, tailFrom, tail.length), before, ready)
      tail = rest.toBytes
      tailFrom = 0
      tailFirst = rest.earliest
    }
    val sorted = ready.toArray
    Arrays.sort(sorted, BufferedRow.byTime)
    sorted
  }

  /** Writes the tail and where the pieces are; a tail that is full becomes a piece first. */
  def write(out: Output, store: SlotStore): Unit = {
    if (tail.length - tailFrom + fresh.size > OrderedBuffer.Full) spill(store)
    out.writeVarInt(slots.size, true)
    slots.indices.foreach { i =>
      out.writeVarLong(slots(i), true)
      out.writeLong(firsts(i))
    }
    out.writeLong(math.min(tailFirst, fresh.earliest))
    out.writeBytes(tail, tailFrom, tail.length - tailFrom)
    fresh.writeTo(out)
  }

  /** Reads what `write` wrote: the rest of the bytes. */
  def read(in: Input, bytes: Array[Byte]): Unit = {
    (0 until in.readVarInt(true)).foreach { _ =>
      slots += in.readVarLong(true)
      firsts += in.readLong()
    }
    tailFirst = in.readLong()
    tail = bytes
    tailFrom = in.position()
  }

  /** The rows inside the key's own entry. */
  def inside: Iterator[BufferedRow] = RowChunk.rows(tail, tailFrom, tail.length)

  private def split(rows: Iterator[BufferedRow], before: Long, ready: mutable.ArrayBuffer[BufferedRow]): RowChunk = {
    val rest = new RowChunk
    rows.foreach(held => if (held.time < before) ready += held else rest.add(held.time, held.row))
    rest
  }

  private def spill(store: SlotStore): Unit = {
    val out = new Output(tail.length - tailFrom + fresh.size)
    out.writeBytes(tail, tailFrom, tail.length - tailFrom)
    fresh.writeTo(out)
    val slot = if (slots.isEmpty) 1L else slots.last + 1
    store.put(slot, out.toBytes)
    slots += slot
    firsts += math.min(tailFirst, fresh.earliest)
    tail = Array.emptyByteArray
    tailFrom = 0
    tailFirst = Long.MaxValue
    fresh.clear()
  }
}

object OrderedBuffer {
  private val Full = 16 * 1024
}
