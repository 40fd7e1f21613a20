package org.apache.spark.sql.headrace.tables

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators._
import org.apache.spark.sql.headrace.operators.state.SlotStore

/** The rows of a table with the key of a join, in slot 0. */
private final class Partners(store: SlotStore, width: Int) {
  private var entries = RowBag.read(store.get(0), width)
  private var changed = false

  def rows: Vector[UnsafeRow] = entries.map(_.row)

  def add(row: UnsafeRow, count: Int): Unit = {
    if (count > 0) entries ++= Vector.fill(count)(Entry(row, 0))
    else (count until 0).foreach { _ =>
      val at = entries.indexWhere(_.row == row)
      if (at >= 0) entries = entries.patch(at, Nil, 1)
    }
    changed = true
  }

  def save(): Unit =
    if (changed) { if (entries.isEmpty) store.remove(0) else store.put(0, RowBag.write(entries)) }
}

/** Reads the two sides of a join from its events. */
private abstract class JoinLogic(step: TableJoinStep, counts: Counts) extends KeyedLogic {
  /** Splits the events of a micro-batch into the net changes of the right side and the left events. */
  protected def split(key: InternalRow, table: Partners, events: Iterator[Event])
      : (mutable.LinkedHashMap[UnsafeRow, Int], Vector[Event]) = {
    val right = mutable.LinkedHashMap.empty[UnsafeRow, Int]
    val left = Vector.newBuilder[Event]
    events.foreach { event =>
      counts.add(Counts.Rows, 1)
      if (!step.isRight(event.row)) left += event.copy(row = event.row.copy())
      else {
        counts.add(Counts.Processed, 1)
        if (!key.anyNull || step.outerRight) {
          if (step.upserts) replace(right, table)
          if (!step.isDeleted(event.row))
            count(right, step.rightRow(event.row), if (step.removesRight(event.row)) -1 else 1)
        }
      }
    }
    (right, left.result())
  }

  private def count(changes: mutable.LinkedHashMap[UnsafeRow, Int], row: UnsafeRow, by: Int): Unit = {
    val sum = changes.remove(row).getOrElse(0) + by
    if (sum != 0) changes.put(row, sum)
  }

  /** Removes the row of the key, as it is after the changes so far. */
  private def replace(changes: mutable.LinkedHashMap[UnsafeRow, Int], table: Partners): Unit = {
    val stored = table.rows.groupBy(identity).map { case (row, all) => row -> all.size }
    (stored.keySet ++ changes.keySet).foreach { row =>
      val present = stored.getOrElse(row, 0) + changes.getOrElse(row, 0)
      if (present > 0) count(changes, row, -present)
    }
  }
}

/** Joins a row of a stream with the table as it is when the row is processed, after the table's changes. */
private final class ArrivalJoin(step: TableJoinStep, counts: Counts) extends JoinLogic(step, counts) {
  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val table = new Partners(store, step.rightWidth)
    val (changes, left) = split(key, table, events)
    changes.foreach { case (row, count) => table.add(row, count) }
    left.foreach { event =>
      val row = step.left.toStored(event.row)
      table.rows.foreach(partner => out.emit(0, step.joinRows(row, partner, null)))
      if (table.rows.nonEmpty || step.outer) counts.add(Counts.Processed, 1)
      else counts.add(Counts.Unmatched, 1)
      if (table.rows.isEmpty && step.outer) out.emit(0, step.joinRows(row, null, null))
    }
    table.save()
  }
}

/** Keeps the join of both sides up to date: emits what a micro-batch has changed in it. */
private final class LiveJoin(step: TableJoinStep, counts: Counts) extends JoinLogic(step, counts) {
  private val ownKey = UnsafeProjection
    .create(step.identity.toSeq.map(i => BoundReference(i, step.left.types(i), nullable = true)))

  private val noChanges = mutable.LinkedHashMap.empty[UnsafeRow, Int]

  /** Results of one left row; `revised` if what is removed and what is added are an update. */
  private final class Results(revised: Boolean) {
    val removed, added = mutable.ArrayBuffer.empty[(UnsafeRow, UnsafeRow)]
    def updates: Int = if (revised) math.min(removed.size, added.size) else 0
  }

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val (table, bag) = (new Partners(store, step.rightWidth), new RowBag(store, step.left.width))
    val (changes, left) = split(key, table, events)
    counts.add(Counts.Processed, left.size)
    val (tableChanges, unmatched) = if (key.anyNull) (noChanges, changes) else (changes, noChanges)
    val before = partners(table)
    val aloneBefore = alone(table, bag)
    tableChanges.foreach { case (row, count) => table.add(row, count) }
    val after = partners(table)
    val results = mutable.LinkedHashMap.empty[Option[UnsafeRow], Results]
    val leftChanges = step.left.net(left.iterator)
    if (tableChanges.nonEmpty) bag.entries.foreach { entry =>
      revise(results, entry.row, 1, before, 1, after)
    }
    leftChanges.foreach { case (row, count) =>
      // The row was revised above as if it stayed, so a removed one now loses what it gained there.
      if (count > 0) revise(results, row, 0, before, count, after)
      else revise(results, row, -count, after, 0, after)
      if (!key.anyNull) change(bag, row, count)
    }
    if (step.outerRight) {
      val own = results.getOrElseUpdate(None, new Results(step.single))
      aloneBefore.foreach(row => record(own.added, own.removed, (null, row)))
      alone(table, bag).foreach(row => record(own.removed, own.added, (null, row)))
      unmatched.foreach { case (row, count) => // a null key matches nothing
        (0 until math.abs(count)).foreach(_ => (if (count > 0) own.added else own.removed) += ((null, row)))
      }
    }
    emit(results.values.toVector, out)
    table.save()
  }

  /** The rows of the table that are results of their own: those without a left row. */
  private def alone(table: Partners, bag: RowBag): Vector[UnsafeRow] =
    if (!step.outerRight || table.rows.isEmpty || bag.entries.hasNext) Vector.empty else table.rows

  private def partners(table: Partners): Vector[UnsafeRow] =
    if (table.rows.isEmpty && step.outer) Vector(null) else table.rows

  private def change(bag: RowBag, row: UnsafeRow, count: Int): Unit = (0 until math.abs(count))
    .foreach(_ => if (count > 0) bag.add(Entry(row, 0)) else bag.remove(row))

  private def revise(results: mutable.LinkedHashMap[Option[UnsafeRow], Results], row: UnsafeRow, times: Int,
      before: Vector[UnsafeRow], timesAfter: Int, after: Vector[UnsafeRow]): Unit = {
    val own = results.getOrElseUpdate(if (step.single) None else Some(ownKey(row).copy()), new Results(true))
    (0 until times).foreach(_ => before.foreach(partner => record(own.added, own.removed, (row, partner))))
    (0 until timesAfter)
      .foreach(_ => after.foreach(partner => record(own.removed, own.added, (row, partner))))
  }

  /** Cancels an equal result in `opposite`, or adds the result to `target`. */
  private def record(opposite: mutable.ArrayBuffer[(UnsafeRow, UnsafeRow)],
      target: mutable.ArrayBuffer[(UnsafeRow, UnsafeRow)], result: (UnsafeRow, UnsafeRow)): Unit = {
    val at = opposite.indexOf(result)
    if (at >= 0) opposite.remove(at) else target += result
  }

  /** Emits results by identity. A row without a left one has none, so all that is removed comes first. */
  private def emit(all: Vector[Results], out: TaggedRows): Unit =
    if (step.outerRight) {
      all.foreach(emitRemoved(_, out))
      all.foreach(emitAdded(_, out))
    } else all.foreach { results =>
      emitRemoved(results, out)
      emitAdded(results, out)
    }

  private def emitRemoved(results: Results, out: TaggedRows): Unit = results.removed.zipWithIndex
    .foreach { case ((row, partner), i) =>
      val change = if (i < results.updates) Change.UpdateBefore else Change.Delete
      out.emit(0, step.joinRows(row, partner, change))
    }

  private def emitAdded(results: Results, out: TaggedRows): Unit = results.added.zipWithIndex
    .foreach { case ((row, partner), i) =>
      val change = if (i < results.updates) Change.UpdateAfter else Change.Insert
      out.emit(0, step.joinRows(row, partner, change))
    }
}
