package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.RowBytes

/** A taken row with its number in its key's order. */
final class TakenRow(val number: Long, val time: Long, val row: UnsafeRow)

/** Last row of a partial match, linked back to its first. Branches share a common prefix. */
final class TakenLink(val step: Int, val taken: TakenRow, val before: TakenLink)

/**
 * A path through the automaton.
 *
 * @param last the last row; null if there is none yet
 * @param first the number of the first row; Long.MaxValue if there is none
 */
final class PartialMatch(val state: AutomatonState, val last: TakenLink, val first: Long, val firstTime: Long,
    val lastTime: Long) {
  def started: Boolean = last != null
}

/** Rows of a partial match by step, in order. */
final class LinkedRows(link: TakenLink, steps: Int) extends MatchedRows {
  private lazy val byStep: Array[IndexedSeq[InternalRow]] = {
    val links = Array.fill(steps)(List.empty[InternalRow])
    var at = link
    while (at != null) {
      links(at.step) ::= at.taken.row
      at = at.before
    }
    links.map(_.toVector)
  }

  override def rows(step: Int): IndexedSeq[InternalRow] = byStep(step)
  override def last: Option[InternalRow] = if (link == null) None else Some(link.taken.row)
}

/** State of a pattern: partial matches, and complete matches that wait for an earlier one. */
final class PartialMatches(start: AutomatonState) {
  var number: Long = 0
  var partial: PartialMatches.Queue = PartialMatches.queue()
  val complete: PartialMatches.Queue = PartialMatches.queue()
  partial.add(PartialMatches.beginning(start))

  def isEmpty: Boolean = partial.size == 1 && complete.isEmpty
}

object PartialMatches {
  /** Ordered by first row. Heap order among equals is significant: it determines what a skip excludes. */
  type Queue = java.util.PriorityQueue[PartialMatch]
  def queue(): Queue = new java.util.PriorityQueue[PartialMatch](
    8, (a: PartialMatch, b: PartialMatch) => java.lang.Long.compare(a.first, b.first))
  def beginning(start: AutomatonState): PartialMatch = new PartialMatch(start, null, Long.MaxValue, -1, -1)
}

final class TakenRowCodec(columns: Int) {
  def write(rows: Seq[TakenRow], out: Output): Unit = {
    out.writeVarInt(rows.size, true)
    rows.foreach { taken =>
      out.writeVarLong(taken.number, true)
      out.writeLong(taken.time)
      RowBytes.write(taken.row, out)
    }
  }

  def read(in: Input): IndexedSeq[TakenRow] = Vector.fill(in.readVarInt(true))(readTaken(in))

  private def readTaken(in: Input): TakenRow =
    new TakenRow(in.readVarLong(true), in.readLong(), RowBytes.read(in, columns))
}

/** Encodes partial matches; shared rows and links are written once. */
final class PartialMatchesCodec(automaton: Automaton, columns: Int) {
  private val codec = new TakenRowCodec(columns)

  def write(memory: PartialMatches, out: Output): Unit = {
    val links = PartialMatchesCodec.links(memory)
    val rows = links.keys.map(_.taken).toVector.distinct
    val indexes = rows.zipWithIndex.toMap
    out.writeVarLong(memory.number, true)
    codec.write(rows, out)
    writePaths(memory, links, out, indexes)
  }

  def read(in: Input): PartialMatches = {
    val number = in.readVarLong(true)
    readPaths(in, codec.read(in), number)
  }

  /** Writes everything but the rows, which are referenced by index. */
  def writePaths(memory: PartialMatches, links: PartialMatchesCodec.Links, out: Output,
      index: TakenRow => Int): Unit = {
    val (partials, complete) =
      (PartialMatchesCodec.heap(memory.partial), PartialMatchesCodec.heap(memory.complete))
    out.writeVarInt(links.size, true)
    links.keys.foreach { link =>
      out.writeVarInt(link.step, true)
      out.writeVarInt(index(link.taken), true)
      out.writeVarInt(if (link.before == null) 0 else links(link.before) + 1, true)
    }
    Seq(partials, complete).foreach { matches =>
      out.writeVarInt(matches.size, true)
      matches.foreach { p =>
        out.writeVarInt(p.state.id, true)
        out.writeVarInt(if (p.started) links(p.last) + 1 else 0, true)
      }
    }
  }

  def readPaths(in: Input, rows: IndexedSeq[TakenRow], number: Long): PartialMatches = {
    val memory = new PartialMatches(automaton.start)
    memory.number = number
    val links = mutable.ArrayBuffer.empty[TakenLink]
    (0 until in.readVarInt(true)).foreach { _ =>
      val (step, row, before) = (in.readVarInt(true), in.readVarInt(true), in.readVarInt(true))
      links += new TakenLink(step, rows(row), if (before == 0) null else links(before - 1))
    }
    // Re-added in stored heap order, which decides between equals.
    memory.partial = PartialMatches.queue()
    Seq(memory.partial, memory.complete).foreach { queue =>
      (0 until in.readVarInt(true))
        .foreach(_ => queue.add(partial(in.readVarInt(true), in.readVarInt(true), links)))
    }
    memory
  }

  private def partial(state: Int, index: Int, links: mutable.ArrayBuffer[TakenLink]): PartialMatch =
    if (index == 0) PartialMatches.beginning(automaton.start)
    else {
      val last = links(index - 1)
      val first = Iterator.iterate(last)(_.before).dropWhile(_.before != null).next()
      new PartialMatch(automaton.states(state), last, first.taken.number, first.taken.time, last.taken.time)
    }
}

object PartialMatchesCodec {
  type Links = mutable.LinkedHashMap[TakenLink, Int]
  private def heap(queue: PartialMatches.Queue): Vector[PartialMatch] = queue
    .toArray(Array.empty[PartialMatch]).toVector

  /** The links of all matches, each after its predecessor. */
  def links(memory: PartialMatches): Links = {
    val links = mutable.LinkedHashMap.empty[TakenLink, Int]
    (heap(memory.partial) ++ heap(memory.complete)).foreach(p => number(p.last, links))
    links
  }

  private def number(link: TakenLink, links: Links): Unit = {
    var missing = List.empty[TakenLink]
    var at = link
    while (at != null && !links.contains(at)) {
      missing ::= at
      at = at.before
    }
    missing.foreach(link => links(link) = links.size)
  }
}
