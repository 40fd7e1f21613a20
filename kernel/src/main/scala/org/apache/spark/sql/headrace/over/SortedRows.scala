package org.apache.spark.sql.headrace.over

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.RowBytes
import org.apache.spark.sql.headrace.operators.state.SlotStore

/** A row of a table, the number of its arrival, and its result as last emitted; null for none. */
final class TableRow(val row: UnsafeRow, val key: UnsafeRow, val sequence: Long, var result: UnsafeRow) {
  /** The result that was last emitted, before this micro-batch. */
  val emitted: UnsafeRow = result
}

/** The columns of stored rows. */
trait SortedColumns {
  def rowWidth: Int
  def keyWidth: Int
  def resultWidth: Int

  /** The order columns of a row; a copy. */
  def keyOf(row: UnsafeRow): UnsafeRow
  def compare(a: UnsafeRow, b: UnsafeRow): Int
}

/**
 * The rows of one key in order. They are stored in chunks in slots of their own, which are read when a row in
 * them is, and written when one has changed; slot 0 has the index of the chunks.
 */
final class SortedRows(store: SlotStore, columns: SortedColumns) {
  import SortedRows._

  /** Rows in order; `prefix` encodes what their results need to know of the rows before; null: unknown. */
  private final class Chunk(val slot: Long, var key: UnsafeRow, var sequence: Long, var count: Int) {
    private var loaded: mutable.ArrayBuffer[TableRow] = _
    private var start: Array[Byte] = _
    var isModified: Boolean = false

    def rows: mutable.ArrayBuffer[TableRow] = {
      if (loaded == null) load()
      loaded
    }

    def prefix: Array[Byte] = {
      if (loaded == null) load()
      start
    }

    def prefix_=(bytes: Array[Byte]): Unit = {
      if (loaded == null) load()
      isModified = true
      start = bytes
    }

    def fill(rows: mutable.ArrayBuffer[TableRow]): Unit = {
      loaded = rows
      refresh()
    }

    /** Updates what the index has of the chunk. */
    def refresh(): Unit = {
      isModified = true
      count = loaded.size
      if (count > 0) {
        key = loaded.head.key
        sequence = loaded.head.sequence
      }
    }

    def toBytes: Array[Byte] = {
      val out = new Output(1024, -1)
      out.writeBoolean(start != null)
      if (start != null) RowBytes.write(start, out)
      loaded.foreach { entry =>
        out.writeVarLong(entry.sequence, true)
        RowBytes.write(entry.row, out)
        out.writeBoolean(entry.result != null)
        if (entry.result != null) RowBytes.write(entry.result, out)
      }
      out.toBytes
    }

    private def load(): Unit = {
      val in = new Input(store.get(slot))
      start = if (in.readBoolean()) RowBytes.read(in) else null
      loaded = mutable.ArrayBuffer.fill(count) {
        val sequence = in.readVarLong(true)
        val row = RowBytes.read(in, columns.rowWidth)
        val result = if (in.readBoolean()) RowBytes.read(in, columns.resultWidth) else null
        new TableRow(row, columns.keyOf(row), sequence, result)
      }
    }
  }

  private val chunks = mutable.ArrayBuffer.empty[Chunk]
  private val removed = mutable.ArrayBuffer.empty[Long]
  private var nextSlot = 1L
  private var nextSequence = 0L

  /** The chunk that was last read, and the number of its first row. */
  private var current = 0
  private var base = 0
  var size: Int = 0
  read()

  def apply(i: Int): TableRow = {
    seek(i)
    chunks(current).rows(i - base)
  }

  /** True if a row is the first of its chunk. */
  def startsChunk(i: Int): Boolean = {
    seek(i)
    i == base
  }

  /** The first row of a chunk, at or before row `i`, and what is stored of the rows before it; null: nothing. */
  def prefixOf(i: Int): (Int, Array[Byte]) = {
    seek(i)
    while (current > 0 && chunks(current).prefix == null) {
      current -= 1
      base -= chunks(current).count
    }
    (base, if (base == 0) null else chunks(current).prefix)
  }

  /** Replaces what is stored of the rows before the chunk that starts with row `i`; false if it is the same. */
  def setPrefix(i: Int, bytes: Array[Byte]): Boolean = {
    seek(i)
    val changed = !java.util.Arrays.equals(chunks(current).prefix, bytes)
    if (changed) chunks(current).prefix = bytes
    changed
  }

  def setResult(i: Int, result: UnsafeRow): Unit = {
    seek(i)
    chunks(current).rows(i - base).result = result
    chunks(current).isModified = true
  }

  /** Adds a row behind those with equal order columns, and returns its number. */
  def add(row: UnsafeRow): Int = {
    val key = columns.keyOf(row)
    val entry = new TableRow(row, key, nextSequence, null)
    nextSequence += 1
    size += 1
    rewind()
    if (chunks.isEmpty) chunks += create(mutable.ArrayBuffer.empty)
    while (current + 1 < chunks.size && columns.compare(chunks(current + 1).key, key) <= 0) next()
    val chunk = chunks(current)
    val at = firstAfter(chunk.rows, key)
    val number = base + at
    if (at == chunk.rows.size && current == chunks.size - 1 && at >= Most) {
      chunks += create(mutable.ArrayBuffer(entry)) // rows in order fill whole chunks
    } else {
      chunk.rows.insert(at, entry)
      chunk.refresh()
      if (chunk.count > Most) split(chunk)
    }
    rewind()
    number
  }

  /** The number of a row that equals `row`; -1 if there is none. */
  def indexOf(row: UnsafeRow): Int = {
    val key = columns.keyOf(row)
    rewind()
    while (current + 1 < chunks.size && columns.compare(chunks(current + 1).key, key) < 0) next()
    var place = -1
    var i = base
    while (place < 0 && i < size && columns.compare(this(i).key, key) <= 0) {
      if (this(i).row == row) place = i
      i += 1
    }
    place
  }

  def remove(i: Int): TableRow = {
    seek(i)
    val chunk = chunks(current)
    val entry = chunk.rows.remove(i - base)
    chunk.refresh()
    if (chunk.count == 0) {
      chunks.remove(current)
      removed += chunk.slot
    }
    size -= 1
    rewind()
    entry
  }

  /** Writes what has changed. */
  def save(): Unit = {
    removed.foreach(store.remove)
    chunks.filter(_.isModified).foreach(chunk => store.put(chunk.slot, chunk.toBytes))
    if (chunks.isEmpty) store.remove(0)
    else {
      val out = new Output(256, -1)
      out.writeVarLong(nextSlot, true)
      out.writeVarLong(nextSequence, true)
      out.writeVarInt(chunks.size, true)
      chunks.foreach { chunk =>
        out.writeVarLong(chunk.slot, true)
        out.writeVarLong(chunk.sequence, true)
        out.writeVarInt(chunk.count, true)
        RowBytes.write(chunk.key, out)
      }
      val bytes = out.toBytes
      if (!java.util.Arrays.equals(bytes, store.get(0))) store.put(0, bytes)
    }
  }

  private def read(): Unit = {
    val bytes = store.get(0)
    if (bytes != null) {
      val in = new Input(bytes)
      nextSlot = in.readVarLong(true)
      nextSequence = in.readVarLong(true)
      (0 until in.readVarInt(true)).foreach { _ =>
        val (slot, sequence, count) = (in.readVarLong(true), in.readVarLong(true), in.readVarInt(true))
        chunks += new Chunk(slot, RowBytes.read(in, columns.keyWidth), sequence, count)
        size += count
      }
    }
  }

  private def create(rows: mutable.ArrayBuffer[TableRow]): Chunk = {
    val chunk = new Chunk(nextSlot, null, 0, 0)
    chunk.fill(rows)
    nextSlot += 1
    chunk
  }

  private def split(chunk: Chunk): Unit = {
    val (first, second) = chunk.rows.splitAt(chunk.rows.size / 2)
    chunk.fill(first)
    chunks.insert(current + 1, create(second))
  }

  private def firstAfter(rows: mutable.ArrayBuffer[TableRow], key: UnsafeRow): Int = {
    var (low, high) = (0, rows.size)
    while (low < high) {
      val middle = (low + high) >>> 1
      if (columns.compare(rows(middle).key, key) <= 0) low = middle + 1 else high = middle
    }
    low
  }

  private def rewind(): Unit = {
    current = 0
    base = 0
  }

  private def next(): Unit = {
    base += chunks(current).count
    current += 1
  }

  private def seek(i: Int): Unit = {
    while (i < base) {
      current -= 1
      base -= chunks(current).count
    }
    while (i >= base + chunks(current).count) next()
  }
}

object SortedRows {
  /** The most rows of a chunk. */
  private val Most = 64
}
