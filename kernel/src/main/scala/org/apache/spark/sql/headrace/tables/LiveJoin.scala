package org.apache.spark.sql.headrace.tables

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators._
import org.apache.spark.sql.headrace.operators.state.SlotStore

/** The rows of a table with the key of a join, mostly one, as a list in slot 0. */
private final class ListedRows(store: SlotStore, width: Int) {
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
  protected def split(key: InternalRow, table: => Vector[(UnsafeRow, Int)], events: Iterator[Event])
      : (mutable.LinkedHashMap[UnsafeRow, Int], Vector[Event]) = {
    val right = mutable.LinkedHashMap.empty[UnsafeRow, Int]
    val left = Vector.newBuilder[Event]
    lazy val stored = table.groupMapReduce(_._1)(_._2)(_ + _)
    events.foreach { event =>
      counts.add(Counts.Rows, 1)
      if (!step.isRight(event.row)) left += event.copy(row = event.row.copy())
      else {
        counts.add(Counts.Processed, 1)
        if (!key.anyNull || step.kind.unmatchedRight) {
          if (step.upserts) replace(right, stored)
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
  private def replace(changes: mutable.LinkedHashMap[UnsafeRow, Int], stored: Map[UnsafeRow, Int]): Unit =
    (stored.keySet ++ changes.keySet).foreach { row =>
      val present = stored.getOrElse(row, 0) + changes.getOrElse(row, 0)
      if (present > 0) count(changes, row, -present)
    }
}

/** Joins a row of a stream with the table as it is when the row is processed, after the table's changes. */
private final class ArrivalJoin(step: TableJoinStep, counts: Counts) extends JoinLogic(step, counts) {
  private val condition = step.pairCondition()

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val table = new ListedRows(store, step.rightWidth)
    val (changes, left) = split(key, table.rows.map(_ -> 1), events)
    changes.foreach { case (row, count) => table.add(row, count) }
    left.foreach { event =>
      val row = step.left.toStored(event.row)
      val partners = table.rows.filter(condition.accepts(row, _))
      partners.foreach(partner => out.emit(0, step.joinRows(row, partner, null)))
      if (partners.isEmpty && step.kind.unmatchedLeft) out.emit(0, step.joinRows(row, null, null))
      counts.add(if (partners.nonEmpty || step.kind.unmatchedLeft) Counts.Processed else Counts.Unmatched, 1)
    }
    table.save()
  }
}

/**
 * Keeps the join of both sides up to date: emits what a micro-batch has changed in it. Both sides are bags of
 * rows.
 *
 * The changes of the right side meet the left rows as they were, then those of the left side meet the right
 * rows as they are now. Where a row without a match is a result, or a row that has one (a semi join), each
 * row of a join with a condition stores the number of its matches. Without a condition, that is the number of
 * rows of the other side.
 */
private final class LiveJoin(step: TableJoinStep, counts: Counts) extends JoinLogic(step, counts) {
  private type Changes = Iterable[(UnsafeRow, Int)]
  private val kind = step.kind
  private val condition = step.pairCondition()
  private val arrivals = new Arrivals
  private val dependsOnMatches = !(kind.pairs && !kind.unmatchedLeft && !kind.unmatchedRight)
  private val countsLeft = step.hasCondition && (kind.unmatchedLeft || kind.onceLeft)
  private val countsRight = step.hasCondition && kind.unmatchedRight

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val state = new State(store)
    val (rightChanges, left) = split(key, state.right.rows.map(held => held.row -> held.copies.toInt), events)
    counts.add(Counts.Processed, left.size)
    val leftChanges = step.left.net(left.iterator)
    val results = new JoinResults(step)
    if (key.anyNull) { // a null key matches nothing
      leftChanges.foreach { case (row, count) => decide(row, 0, count, results) }
      if (kind.unmatchedRight) rightChanges.foreach { case (row, count) => results.add(null, row, count) }
    } else {
      if (rightChanges.nonEmpty) changeRight(state, rightChanges.toVector, results)
      if (leftChanges.nonEmpty) changeLeft(state, leftChanges.toVector, results)
      state.totals.foreach(_.save())
    }
    results.emit(out)
  }

  private final class State(store: SlotStore) {
    val left = new JoinSide(store, isLeft = true, step.left.width, countsLeft)
    val right = new JoinSide(store, isLeft = false, step.rightWidth, countsRight)
    val totals: Option[JoinTotals] =
      if (dependsOnMatches && !step.hasCondition) Some(new JoinTotals(store, left, right)) else None
  }

  /** Changes the right rows, whose partners are the left rows before their changes. */
  private def changeRight(state: State, changes: Changes, results: JoinResults): Unit = {
    val entries = changes.map { case (row, count) =>
      val held = state.right.find(row)
      (row, math.max(count, -held.fold(0L)(_.copies).toInt), held)
    }.filter(_._2 != 0).toVector
    val added = entries.map(_._2.toLong).sum
    val before = state.totals.fold(0L)(_.rightRows)
    val scans = kind.pairs || step.hasCondition || (before > 0) != (before + added > 0)
    val matches = new Array[Long](entries.size)
    if (scans) state.left.rows.foreach { held =>
      var change = 0L
      entries.indices.foreach { i =>
        val (row, count, _) = entries(i)
        if (condition.accepts(held.row, row)) {
          change += count
          matches(i) += held.copies
          if (kind.pairs) results.add(held.row, row, held.copies * count)
        }
      }
      val own = if (step.hasCondition) held.matches else before
      if (change != 0) {
        decide(held.row, own, -held.copies, results)
        decide(held.row, own + change, held.copies, results)
        if (countsLeft) state.left.put(held.copy(matches = own + change))
      }
    }
    entries.indices.foreach { i =>
      val (row, count, held) = entries(i)
      val own = state.totals.fold(matches(i))(_.leftRows)
      if (kind.unmatchedRight && own == 0) results.add(null, row, count)
      state.right.put(entryOf(row, held, count, own))
    }
    state.totals.foreach(_.addRight(added))
  }

  /** Changes the left rows, whose partners are the right rows after their changes. */
  private def changeLeft(state: State, changes: Changes, results: JoinResults): Unit = {
    val entries = changes.map { case (row, count) =>
      val held = state.left.find(row)
      (row, math.max(count, -held.fold(0L)(_.copies).toInt), held)
    }.filter(_._2 != 0).toVector
    val added = entries.map(_._2.toLong).sum
    val before = state.totals.fold(0L)(_.leftRows)
    val changesAlone = kind.unmatchedRight && (before > 0) != (before + added > 0)
    val matches = new Array[Long](entries.size)
    if (kind.pairs || step.hasCondition || changesAlone) state.right.rows.foreach { held =>
      var change = 0L
      entries.indices.foreach { i =>
        val (row, count, _) = entries(i)
        if (condition.accepts(row, held.row)) {
          change += count
          matches(i) += held.copies
          if (kind.pairs) results.add(row, held.row, held.copies * count)
        }
      }
      val own = if (step.hasCondition) held.matches else before
      if (kind.unmatchedRight && change != 0) {
        if (own == 0) results.add(null, held.row, -held.copies)
        if (own + change == 0) results.add(null, held.row, held.copies)
        if (countsRight) state.right.put(held.copy(matches = own + change))
      }
    }
    entries.indices.foreach { i =>
      val (row, count, held) = entries(i)
      val own = state.totals.fold(matches(i))(_.rightRows)
      decide(row, own, count, results)
      state.left.put(entryOf(row, held, count, own))
    }
    state.totals.foreach(_.addLeft(added))
  }

  /** The entry of a row after a change of its copies. */
  private def entryOf(row: UnsafeRow, held: Option[JoinRow], count: Long, matches: Long): JoinRow =
    JoinRow(row, held.fold(0L)(_.copies) + count, matches, held.fold(arrivals.next())(_.arrival))

  /** Adds the result that a left row is without a partner: with `matches` it is one or not. */
  private def decide(row: UnsafeRow, matches: Long, count: Long, results: JoinResults): Unit =
    if (if (matches > 0) kind.onceLeft else kind.unmatchedLeft) results.add(row, null, count)
}

/** The changes of the results of one key in a micro-batch, by the identity of the left row. */
private final class JoinResults(step: TableJoinStep) {
  private type Pair = (UnsafeRow, UnsafeRow)
  private val groups = mutable.LinkedHashMap.empty[Option[UnsafeRow], mutable.LinkedHashMap[Pair, Long]]

  /** Adds results, or removes some if `count` is negative. */
  def add(left: UnsafeRow, right: UnsafeRow, count: Long): Unit = {
    val identity = if (step.single || left == null) None else Some(step.identityOf(left).copy())
    val group = groups.getOrElseUpdate(identity, mutable.LinkedHashMap.empty)
    val sum = group.remove((left, right)).getOrElse(0L) + count
    if (sum != 0) group.put((left, right), sum)
  }

  /** Emits results by identity. A row without a left one has none, so all that is removed comes first. */
  def emit(out: TaggedRows): Unit = {
    val all = groups.toVector.map { case (identity, group) =>
      val removed = expand(group.iterator.filter(_._2 < 0))
      val added = expand(group.iterator.filter(_._2 > 0))
      val updates = if (identity.nonEmpty || step.single) math.min(removed.size, added.size) else 0
      (removed, added, updates)
    }
    if (step.kind.unmatchedRight) {
      all.foreach { case (removed, _, updates) => emitRemoved(removed, updates, out) }
      all.foreach { case (_, added, updates) => emitAdded(added, updates, out) }
    } else all.foreach { case (removed, added, updates) =>
      emitRemoved(removed, updates, out)
      emitAdded(added, updates, out)
    }
  }

  private def expand(pairs: Iterator[(Pair, Long)]): Vector[Pair] = pairs.flatMap { case (pair, count) =>
    Iterator.fill(math.abs(count).toInt)(pair)
  }.toVector

  private def emitRemoved(pairs: Vector[Pair], updates: Int, out: TaggedRows): Unit = pairs.zipWithIndex
    .foreach { case ((left, right), i) =>
      out.emit(0, step.joinRows(left, right, if (i < updates) Change.UpdateBefore else Change.Delete))
    }

  private def emitAdded(pairs: Vector[Pair], updates: Int, out: TaggedRows): Unit = pairs.zipWithIndex
    .foreach { case ((left, right), i) =>
      out.emit(0, step.joinRows(left, right, if (i < updates) Change.UpdateAfter else Change.Insert))
    }
}
