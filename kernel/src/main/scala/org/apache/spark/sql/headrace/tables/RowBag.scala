package org.apache.spark.sql.headrace.tables

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.expressions.{UnsafeRow, XXH64}
import org.apache.spark.sql.headrace.operators.RowBytes
import org.apache.spark.sql.headrace.operators.state.SlotStore

/** A stored row with a sequence number, by which equal rows keep their order. */
final case class Entry(row: UnsafeRow, sequence: Long)

/**
 * Rows of one key, each in the slot of its hash, so that adding and removing one does not rewrite the others.
 * Uses negative slots; the others are free for the step.
 */
final class RowBag(store: SlotStore, width: Int) {
  def add(entry: Entry): Unit = {
    val slot = slotOf(entry.row)
    store.put(slot, RowBag.write(RowBag.read(store.get(slot), width) :+ entry))
  }

  /** Removes one row that equals `row`; returns false if there is none. */
  def remove(row: UnsafeRow): Boolean = {
    val slot = slotOf(row)
    val entries = RowBag.read(store.get(slot), width)
    val at = entries.indexWhere(_.row == row)
    if (at >= 0) {
      val rest = entries.patch(at, Nil, 1)
      if (rest.isEmpty) store.remove(slot) else store.put(slot, RowBag.write(rest))
    }
    at >= 0
  }

  def entries: Iterator[Entry] = store.all.filter(_._1 < 0).flatMap { case (_, bytes) =>
    RowBag.read(bytes, width)
  }

  private def slotOf(row: UnsafeRow): Long = Long.MinValue |
    XXH64.hashUnsafeBytes(row.getBaseObject, row.getBaseOffset, row.getSizeInBytes, 42L)
}

object RowBag {
  def write(entries: Iterable[Entry]): Array[Byte] = {
    val out = new Output(256, -1)
    writeTo(entries, out)
    out.toBytes
  }

  def writeTo(entries: Iterable[Entry], out: Output): Unit = {
    out.writeVarInt(entries.size, true)
    entries.foreach { entry =>
      out.writeVarLong(entry.sequence, true)
      RowBytes.write(entry.row, out)
    }
  }

  def read(bytes: Array[Byte], width: Int): Vector[Entry] =
    if (bytes == null) Vector.empty else readFrom(new Input(bytes), width)

  def readFrom(in: Input, width: Int): Vector[Entry] = {
    val entries = Vector.newBuilder[Entry]
    (0 until in.readVarInt(true)).foreach { _ =>
      val sequence = in.readVarLong(true)
      entries += Entry(RowBytes.read(in, width), sequence)
    }
    entries.result()
  }
}
