package org.apache.spark.sql.headrace.tables

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.{UnsafeRow, XXH64}
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.headrace.operators.RowBytes
import org.apache.spark.sql.headrace.operators.state.SlotStore

/** The position of a row in the order of arrival: the epoch, and the number of the row in it. */
final case class Arrival(epoch: Long, number: Long)

object Arrival {
  /** The position of rows that were stored without one; it is before all others. */
  val Unknown: Arrival = Arrival(0, 0)

  implicit val ordering: Ordering[Arrival] = Ordering.by(arrival => (arrival.epoch, arrival.number))
}

/** Numbers the new rows of an operator. */
final class Arrivals {
  private lazy val epoch = Option(TaskContext.get())
    .flatMap(task => Option(task.getLocalProperty(MicroBatchExecution.BATCH_ID_KEY))).fold(0L)(_.toLong)
  private var number = 0L

  def next(): Arrival = {
    number += 1
    Arrival(epoch, number)
  }
}

/**
 * Equal rows of one side of a join.
 *
 * @param copies how often the row exists
 * @param matches how many rows of the other side match it; 0 if the side does not count them
 * @param arrival the arrival of the first copy
 */
final case class JoinRow(row: UnsafeRow, copies: Long, matches: Long, arrival: Arrival = Arrival.Unknown)

/**
 * The rows of one side of a join with the same key, each in the slot of its hash, so that a change of one
 * does not rewrite the others. Left rows have negative slots, right rows slots from 2 to the power of 62.
 *
 * Versions up to 0.2 stored the rows of a right side as a list in slot 0, and copies of a left row one by
 * one; both are read. Later ones begin with a 0 in place of the number of entries, and store the arrival.
 *
 * @param counted true to store how many rows of the other side match a row
 */
final class JoinSide(store: SlotStore, isLeft: Boolean, width: Int, counted: Boolean) {
  /** The slots that have been read, so that a row is read once to be found and replaced. */
  private val known = mutable.LongMap.empty[Vector[JoinRow]]
  if (!isLeft) moveList()

  def find(row: UnsafeRow): Option[JoinRow] = entriesOf(slotOf(row)).find(_.row == row)

  /** Replaces the entry of a row; one without copies is removed. */
  def put(entry: JoinRow): Unit = {
    val slot = slotOf(entry.row)
    val others = entriesOf(slot).filterNot(_.row == entry.row)
    val entries = if (entry.copies > 0) others :+ entry else others
    known(slot) = entries
    if (entries.isEmpty) store.remove(slot) else store.put(slot, write(entries))
  }

  /** All rows in the order of arrival, so that a sink has the result of the last one, whatever its key. */
  def rows: Vector[JoinRow] = store.all.filter { case (slot, _) => isOwn(slot) }.flatMap { case (_, bytes) =>
    read(bytes)
  }.toVector.sortBy(_.arrival)

  private def entriesOf(slot: Long): Vector[JoinRow] = known.getOrElseUpdate(slot, read(store.get(slot)))

  private def isOwn(slot: Long): Boolean = if (isLeft) slot < 0 else slot >= JoinSide.FirstRight

  private def slotOf(row: UnsafeRow): Long = {
    val hash = XXH64.hashUnsafeBytes(row.getBaseObject, row.getBaseOffset, row.getSizeInBytes, 42L)
    if (isLeft) Long.MinValue | hash else JoinSide.FirstRight | (hash & (JoinSide.FirstRight - 1))
  }

  private def moveList(): Unit = {
    val list = store.get(JoinSide.List)
    if (list != null) {
      RowBag.read(list, width).groupBy(_.row).foreach { case (row, all) => put(JoinRow(row, all.size, 0)) }
      store.remove(JoinSide.List)
    }
  }

  private def write(entries: Vector[JoinRow]): Array[Byte] = {
    val out = new Output(256, -1)
    out.writeVarInt(JoinSide.WithArrival, true)
    out.writeVarInt(entries.size, true)
    entries.foreach { entry =>
      out.writeVarLong(entry.arrival.epoch, true)
      out.writeVarLong(entry.arrival.number, true)
      out.writeVarLong(entry.copies - 1, true)
      RowBytes.write(entry.row, out)
      if (counted) out.writeVarLong(entry.matches, true)
    }
    out.toBytes
  }

  private def read(bytes: Array[Byte]): Vector[JoinRow] =
    if (bytes == null) Vector.empty
    else {
      val in = new Input(bytes)
      val first = in.readVarInt(true)
      val ordered = first == JoinSide.WithArrival
      val entries = Vector.fill(if (ordered) in.readVarInt(true) else first) {
        val arrival = if (ordered) Arrival(in.readVarLong(true), in.readVarLong(true)) else Arrival.Unknown
        val copies = in.readVarLong(true) + 1
        val row = RowBytes.read(in, width)
        JoinRow(row, copies, if (counted) in.readVarLong(true) else 0, arrival)
      }
      if (entries.size < 2) entries else merge(entries)
    }

  private def merge(entries: Vector[JoinRow]): Vector[JoinRow] = entries.map(_.row).distinct.map { row =>
    val equal = entries.filter(_.row == row)
    JoinRow(row, equal.map(_.copies).sum, equal.head.matches, equal.head.arrival)
  }
}

object JoinSide {
  private val List = 0L
  private val FirstRight = 1L << 62
  private val WithArrival = 0
}

/** The numbers of rows of both sides with the same key, in slot 1; without them, the rows are counted. */
final class JoinTotals(store: SlotStore, left: JoinSide, right: JoinSide) {
  private val stored = store.get(JoinTotals.Slot)
  private val input = if (stored == null) null else new Input(stored)
  private val before =
    if (input == null) Array(left, right).map(_.rows.map(_.copies).sum)
    else Array.fill(2)(input.readVarLong(true))
  private val now = before.clone()

  def leftRows: Long = now(0)
  def rightRows: Long = now(1)
  def addLeft(count: Long): Unit = now(0) += count
  def addRight(count: Long): Unit = now(1) += count

  def save(): Unit =
    if (now.forall(_ == 0)) { if (stored != null) store.remove(JoinTotals.Slot) }
    else if (stored == null || !now.sameElements(before)) {
      val out = new Output(20, -1)
      now.foreach(out.writeVarLong(_, true))
      store.put(JoinTotals.Slot, out.toBytes)
    }
}

object JoinTotals {
  private val Slot = 1L
}
