package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A row that was taken, with its number in the order of its key. */
final class TakenRow(val number: Long, val time: Long, val row: UnsafeRow)

/** The last row of a partial match and the way back to its first. PartialMatch matches with a common beginning share it. */
final class TakenLink(val step: Int, val taken: TakenRow, val before: TakenLink)

/**
 * A way through the automaton.
 *
 * @param last its last row, null where it has none yet
 * @param first the number of its first row: Long.MaxValue where it has none
 */
final class PartialMatch(val state: AutomatonState, val last: TakenLink, val first: Long, val firstTime: Long, val lastTime: Long) {
  def started: Boolean = last != null
}

/** The rows of a partial match by step, in order. */
final class LinkedRows(link: TakenLink, steps: Int) extends MatchedRows {
  private lazy val byStep: Array[IndexedSeq[InternalRow]] = {
    val found = Array.fill(steps)(List.empty[InternalRow])
    var at = link
    while (at != null) {
      found(at.step) ::= at.taken.row
      at = at.before
    }
    found.map(_.toVector)
  }

  override def rows(step: Int): IndexedSeq[InternalRow] = byStep(step)
  override def last: Option[InternalRow] = if (link == null) None else Some(link.taken.row)
}

/** What a key remembers of a pattern: partial matches, and complete ones that wait for an earlier one to end. */
final class PartialMatches(start: AutomatonState) {
  var number: Long = 0
  var partial: PartialMatches.Queue = PartialMatches.queue()
  val complete: PartialMatches.Queue = PartialMatches.queue()
  partial.add(PartialMatches.beginning(start))

  def nothing: Boolean = partial.size == 1 && complete.isEmpty
}

object PartialMatches {
  /** By first row, and among equals in a heap's order: which of them comes first decides what a skip leaves out. */
  type Queue = java.util.PriorityQueue[PartialMatch]

  def queue(): Queue =
    new java.util.PriorityQueue[PartialMatch](8, (a: PartialMatch, b: PartialMatch) => java.lang.Long.compare(a.first, b.first))

  def beginning(start: AutomatonState): PartialMatch = new PartialMatch(start, null, Long.MaxValue, -1, -1)
}

/** Rows that were taken, as bytes. */
final class TakenRowCodec(columns: Int) {
  def write(rows: Seq[TakenRow], out: Output): Unit = {
    out.writeVarInt(rows.size, true)
    rows.foreach { taken =>
      out.writeVarLong(taken.number, true)
      out.writeLong(taken.time)
      val bytes = taken.row.getBytes
      out.writeVarInt(bytes.length, true)
      out.writeBytes(bytes)
    }
  }

  def read(in: Input): IndexedSeq[TakenRow] = Vector.fill(in.readVarInt(true))(taken(in))

  private def taken(in: Input): TakenRow = {
    val (number, time) = (in.readVarLong(true), in.readLong())
    val bytes = in.readBytes(in.readVarInt(true))
    val row = new UnsafeRow(columns)
    row.pointTo(bytes, bytes.length)
    new TakenRow(number, time, row)
  }
}

/** PartialMatch matches as bytes: each row once, each link once, whoever shares them. */
final class PartialMatchesCodec(automaton: Automaton, columns: Int) {
  private val codec = new TakenRowCodec(columns)

  def write(memory: PartialMatches, out: Output): Unit = {
    val links = PartialMatchesCodec.links(memory)
    val rows = links.keys.map(_.taken).toVector.distinct
    val places = rows.zipWithIndex.toMap
    out.writeVarLong(memory.number, true)
    codec.write(rows, out)
    writeWays(memory, links, out, places)
  }

  def read(in: Input): PartialMatches = {
    val number = in.readVarLong(true)
    readWays(in, codec.read(in), number)
  }

  /** All but the rows, of which it says the places. */
  def writeWays(memory: PartialMatches, links: PartialMatchesCodec.Links, out: Output, place: TakenRow => Int): Unit = {
    val (partials, complete) = (PartialMatchesCodec.heap(memory.partial), PartialMatchesCodec.heap(memory.complete))
    out.writeVarInt(links.size, true)
    links.keys.foreach { link =>
      out.writeVarInt(link.step, true)
      out.writeVarInt(place(link.taken), true)
      out.writeVarInt(if (link.before == null) 0 else links(link.before) + 1, true)
    }
    Seq(partials, complete).foreach { several =>
      out.writeVarInt(several.size, true)
      several.foreach { p =>
        out.writeVarInt(p.state.id, true)
        out.writeVarInt(if (p.started) links(p.last) + 1 else 0, true)
      }
    }
  }

  def readWays(in: Input, rows: IndexedSeq[TakenRow], number: Long): PartialMatches = {
    val memory = new PartialMatches(automaton.start)
    memory.number = number
    val links = mutable.ArrayBuffer.empty[TakenLink]
    (0 until in.readVarInt(true)).foreach { _ =>
      val (step, row, before) = (in.readVarInt(true), in.readVarInt(true), in.readVarInt(true))
      links += new TakenLink(step, rows(row), if (before == 0) null else links(before - 1))
    }
    // Added again in the heap's own order, which is kept so: it decides between equals.
    memory.partial = PartialMatches.queue()
    Seq(memory.partial, memory.complete).foreach { queue =>
      (0 until in.readVarInt(true)).foreach(_ => queue.add(partial(in.readVarInt(true), in.readVarInt(true), links)))
    }
    memory
  }

  private def partial(state: Int, place: Int, links: mutable.ArrayBuffer[TakenLink]): PartialMatch =
    if (place == 0) PartialMatches.beginning(automaton.start)
    else {
      val last = links(place - 1)
      val first = Iterator.iterate(last)(_.before).dropWhile(_.before != null).next()
      new PartialMatch(automaton.states(state), last, first.taken.number, first.taken.time, last.taken.time)
    }
}

object PartialMatchesCodec {
  type Links = mutable.LinkedHashMap[TakenLink, Int]

  private def heap(queue: PartialMatches.Queue): Vector[PartialMatch] = queue.toArray(Array.empty[PartialMatch]).toVector

  /** The links of a memory, each after the one before it. */
  def links(memory: PartialMatches): Links = {
    val found = mutable.LinkedHashMap.empty[TakenLink, Int]
    (heap(memory.partial) ++ heap(memory.complete)).foreach(p => number(p.last, found))
    found
  }

  private def number(link: TakenLink, links: Links): Unit = {
    var missing = List.empty[TakenLink]
    var at = link
    while (at != null && !links.contains(at)) {
      missing ::= at
      at = at.before
    }
    missing.foreach(one => links(one) = links.size)
  }
}
