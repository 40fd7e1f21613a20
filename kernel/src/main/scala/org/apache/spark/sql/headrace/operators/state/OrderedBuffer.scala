package org.apache.spark.sql.headrace.operators.state

import java.util.{Arrays, Comparator}

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.Event

final class BufferedRow(val time: Long, val row: UnsafeRow) {
  def event: Event = Event(row, Some(time))
}

object BufferedRow {
  val byTime: Comparator[BufferedRow] = (a, b) => java.lang.Long.compare(a.time, b.time)
}

/**
 * Rows of one key that wait for the watermark.
 *
 * The newest rows, up to `TailBytes`, are part of the key's own entry (the tail); older ones are chunks in
 * slots of their own. A chunk is read only when the watermark reaches its earliest row, so a slow watermark
 * does not make every micro-batch rewrite all buffered rows.
 */
final class OrderedBuffer {
  import OrderedBuffer._

  /** Slots of the chunks and their earliest times, oldest chunk first. */
  private val slots = mutable.ArrayBuffer.empty[Long]
  private val earliestTimes = mutable.ArrayBuffer.empty[Long]
  private var tail = new Chunk(RowBlock.empty)

  /** Event time of the earliest buffered row. */
  def earliest: Long = earliestTimes.foldLeft(tail.earliest)(math.min)

  def add(time: Long, row: UnsafeRow): Unit = tail.add(time, row)

  /** Removes and returns the rows before a time, by time, then arrival. */
  def release(before: Long, store: SlotStore): Array[BufferedRow] = {
    val released = mutable.ArrayBuffer.empty[BufferedRow]
    var i = 0
    while (i < slots.size) {
      if (earliestTimes(i) >= before) i += 1
      else {
        val rest = split(chunkRows(store.get(slots(i))), before, released)
        if (rest.block.size == 0) {
          store.remove(slots.remove(i))
          earliestTimes.remove(i)
        } else {
          store.put(slots(i), rest.block.toBytes)
          earliestTimes(i) = rest.earliest
          i += 1
        }
      }
    }
    if (tail.earliest < before) tail = split(tailRows, before, released)
    val sorted = released.toArray
    Arrays.sort(sorted, BufferedRow.byTime)
    sorted
  }

  /** Writes the tail and the chunk index; a full tail becomes a chunk first. */
  def write(out: Output, store: SlotStore): Unit = {
    if (tail.block.size > TailBytes) spill(store)
    out.writeVarInt(slots.size, true)
    slots.indices.foreach { i =>
      out.writeVarLong(slots(i), true)
      out.writeLong(earliestTimes(i))
    }
    out.writeLong(tail.earliest)
    tail.block.writeTo(out)
  }

  /** Reads what `write` wrote, from `in` to the end of `bytes`. */
  def read(in: Input, bytes: Array[Byte]): Unit = {
    (0 until in.readVarInt(true)).foreach { _ =>
      slots += in.readVarLong(true)
      earliestTimes += in.readLong()
    }
    val earliest = in.readLong()
    tail = new Chunk(new RowBlock(bytes, in.position()), earliest)
  }

  /** Rows in the key's own entry. */
  def tailRows: Iterable[BufferedRow] = rowsOf(tail.block)

  private def split(
      rows: Iterable[BufferedRow], before: Long, released: mutable.ArrayBuffer[BufferedRow]): Chunk = {
    val rest = new Chunk(RowBlock.empty)
    rows.foreach(held => if (held.time < before) released += held else rest.add(held.time, held.row))
    rest
  }

  private def spill(store: SlotStore): Unit = {
    val slot = if (slots.isEmpty) 1L else slots.last + 1
    store.put(slot, tail.block.toBytes)
    slots += slot
    earliestTimes += tail.earliest
    tail = new Chunk(RowBlock.empty)
  }
}

object OrderedBuffer {
  private val TailBytes = 16 * 1024

  /** Rows, tagged with their number of columns, and their earliest time. */
  private final class Chunk(val block: RowBlock, var earliest: Long = Long.MaxValue) {
    def add(time: Long, row: UnsafeRow): Unit = {
      block.add(time, row.numFields, row)
      earliest = math.min(earliest, time)
    }
  }

  /** Rows in the slot of a chunk. */
  def chunkRows(bytes: Array[Byte]): Iterable[BufferedRow] = rowsOf(new RowBlock(bytes))

  /** The rows, which point into the block. */
  private def rowsOf(block: RowBlock): Iterable[BufferedRow] = {
    val rows = mutable.ArrayBuffer.empty[BufferedRow]
    block
      .foreachPlace(place => rows += new BufferedRow(block.time(place), block.row(place, block.tag(place))))
    rows
  }
}
