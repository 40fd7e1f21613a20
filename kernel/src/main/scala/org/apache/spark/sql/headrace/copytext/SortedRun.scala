package org.apache.spark.sql.headrace.copytext

import java.util.{Arrays => JArrays, BitSet => JBitSet}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.array.LongArray
import org.apache.spark.unsafe.memory.MemoryBlock
import org.apache.spark.util.collection.unsafe.sort.RadixSort

/**
 * The rows of a task in runs, each sorted by key: neighbours in an index are quicker to add together.
 *
 * The first run is short, so that the database can begin early; each one is twice as long as the one before, up to a limit, since
 * every run goes through all of the index once more. Spark's own sort would hold back all of the task's rows, copy each one and
 * compare keys. It also asks Spark for memory, and spills, which so little doesn't need: a task holds one run, bounded in bytes.
 */
private[copytext] final class SortedRuns(rows: Iterator[InternalRow], kinds: Array[DataType], key: Array[Int])
    extends Iterator[Iterator[InternalRow]] {
  private val run = new SortedRun(kinds, key)
  private var bytes = SortedRuns.Shortest

  override def hasNext: Boolean = rows.hasNext

  override def next(): Iterator[InternalRow] = {
    run.clear()
    while (run.size < bytes && rows.hasNext) run.add(rows.next())
    bytes = Math.min(2 * bytes, SortedRuns.Longest)
    run.sorted()
  }
}

private object SortedRuns {
  val Shortest: Int = 8 << 20
  val Longest: Int = 32 << 20
}

/** Rows as lines, with what their order is decided by; they are numbered in that order. */
private[copytext] final class SortedRun(kinds: Array[DataType], key: Array[Int]) {
  import SortedRun._

  private val hash = kinds.length - 1
  private val line = new CopyTextLine(kinds.take(hash))
  private val lines, keys = new TextBuffer
  private var ends = new Array[Long](1 << 14) // of a row's line, and of its key in the lower half
  private var hashes = new Array[Long](1 << 14)
  private val without = new JBitSet // rows whose hash is null
  private var count = 0
  private var number = CopyText.first

  /** In bytes, with what sorting takes. */
  def size: Int = lines.size + keys.size + 48 * count

  def clear(): Unit = {
    lines.clear()
    keys.clear()
    without.clear()
    count = 0
  }

  def add(row: InternalRow): Unit = {
    if (count == ends.length) {
      ends = JArrays.copyOf(ends, 2 * count)
      hashes = JArrays.copyOf(hashes, 2 * count)
    }
    line.put(row, lines)
    var i = 0
    while (i < key.length) {
      put(row, key(i))
      i += 1
    }
    if (row.isNullAt(hash)) without.set(count) else hashes(count) = row.getLong(hash)
    ends(count) = lines.size.toLong << 32 | keys.size
    count += 1
  }

  /** Bytes in whose order keys are: text has an end that is before any other byte, numbers begin with their sign and length. */
  private def put(row: InternalRow, i: Int): Unit =
    if (row.isNullAt(i)) keys.put(0)
    else if (CopyTextLine.whole(kinds(i))) {
      val number = CopyTextLine.number(row, i, kinds(i))
      var left = java.lang.Long.BYTES - java.lang.Long.numberOfLeadingZeros(number ^ (number >> 63)) / 8
      keys.put(if (number < 0) 127 - left else 128 + left)
      while (left > 0) {
        left -= 1
        keys.put((number >>> (8 * left)).toInt)
      }
    } else {
      keys.raw(row.getUTF8String(i))
      keys.put(0)
    }

  /** The lines and hashes, in order. */
  def sorted(): Iterator[InternalRow] = {
    val order = Array.range(0, count)
    sort(order, 0, count)
    new Iterator[InternalRow] {
      private val piece, hashed = new TextBuffer
      private var place = 0

      override def hasNext: Boolean = place < order.length

      override def next(): InternalRow = {
        do {
          val row = order(place)
          piece.digits(number)
          piece.part(lines, lineEnd(row - 1), lineEnd(row))
          if (!without.get(row)) hashed.raw(hashes(row))
          number += 1
          place += 1
        } while (piece.size < CopyText.PieceBytes && place < order.length)
        CopyText.value(piece, hashed)
      }
    }
  }

  /** By eight places of the keys, then each lot of many that have these alike by others. Rows of a key stay as they came. */
  private def sort(order: Array[Int], from: Int, until: Int): Unit = {
    val places = telling(order, from, until)
    if (places.nonEmpty) {
      val rows = until - from
      val pairs = new LongArray(MemoryBlock.fromLongArray(new Array[Long](4 * rows))) // half of it to sort in
      for (i <- 0 until rows) {
        pairs.set(2 * i, order(from + i))
        pairs.set(2 * i + 1, prefix(order(from + i), places))
      }
      val first = RadixSort.sortKeyPrefixArray(pairs, 0, rows, 0, 7, false, false)
      var lot = 0
      for (i <- 0 until rows) {
        order(from + i) = pairs.get(first + 2 * i).toInt
        val last = i + 1 == rows || pairs.get(first + 2 * i + 1) != pairs.get(first + 2 * i + 3)
        if (last && i - lot >= Few) sort(order, from + lot, from + i + 1)
        if (last) lot = i + 1
      }
    }
  }

  private def prefix(row: Int, places: Array[Int]): Long = {
    var bytes = 0L
    var i = 0
    while (i < places.length) {
      bytes = bytes << 8 | at(row, places(i))
      i += 1
    }
    bytes
  }

  /** The first eight places in which keys differ, in a sample of them: what all begin with tells nothing. */
  private def telling(order: Array[Int], from: Int, until: Int): Array[Int] = {
    val differ = new Array[Boolean](Deepest)
    val one = order(from)
    for (i <- from until until by Math.max(1, (until - from) / Sample)) {
      val row = order(i)
      for (place <- 0 until Math.min(Deepest, Math.max(length(one), length(row))))
        if (at(row, place) != at(one, place)) differ(place) = true
    }
    differ.indices.filter(differ).take(java.lang.Long.BYTES).toArray
  }

  private def at(row: Int, place: Int): Int = if (place < length(row)) keys(keyEnd(row - 1) + place) & 0xff else 0

  private def length(row: Int): Int = keyEnd(row) - keyEnd(row - 1)

  private def keyEnd(row: Int): Int = if (row < 0) 0 else ends(row).toInt

  private def lineEnd(row: Int): Int = if (row < 0) 0 else (ends(row) >>> 32).toInt
}

private object SortedRun {
  val Sample = 4096
  val Deepest = 256
  val Few = 64
}
