package org.apache.spark.sql.headrace.tables

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, StepColumns, TaggedRows}
import org.apache.spark.sql.headrace.operators.{Change, Counts, Event, Now, OperatorPlan, StepTime}
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.types.{IntegerType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * The first `n` rows of each key by the columns `__order0`, `__order1`, ...; of equal rows the earlier ones.
 * Emits the ranks that a micro-batch has changed.
 *
 * Rows beyond the first `n` are stored only if the input is a changelog: only then can they move up.
 *
 * @param ties how equal rows are ranked: `rows` one after the other, `rank` and `dense_rank` alike, as in SQL
 */
final class TopNStep(val columns: StepColumns, val rows: TableRows, val n: Int, val orders: Seq[SortOrder],
    val time: StepTime.Value, val ties: String)
    extends TableStep {
  override def logic(counts: Counts): KeyedLogic = new TopNLogic(this, counts)
}

object TopNStep {
  /** Creates a step; `order` has one word per order column, such as `desc nulls last`. */
  def apply(frame: Dataset[Row], text: String): TopNStep = {
    val spec = new TableSpec(text)
    val input = OperatorPlan.planOf(frame).output
    val directions = spec.words("order")
    val names = directions.indices.map(i => s"__order$i")
    val rows = new TableRows(input, names)
    val orders = names.zip(directions).map { case (name, words) => order(rows, name, words) }
    val main =
      StructType((rows.fields :+ StructField("rank", IntegerType)) ++ Change.fields :+ rows.timeField)
    val columns = new StepColumns(input, Nil, spec.keys, Seq("main" -> main))
    new TopNStep(columns, rows, spec.number("n").toInt, orders, spec.time, spec.word("ties"))
  }

  private def order(rows: TableRows, name: String, words: String): SortOrder = {
    val column = rows.stored.find(_.name == name).get
    val direction = if (words.startsWith("desc")) Descending else Ascending
    val nulls =
      if (words.endsWith("nulls first")) NullsFirst
      else if (words.endsWith("nulls last")) NullsLast
      else direction.defaultNullOrdering
    SortOrder(column, direction, nulls, Nil)
  }
}

/** The first rows of a key in order, and the number of rows behind them. */
private final class TopRows(val first: mutable.ArrayBuffer[Entry], var behind: Long, var sequence: Long)

private object TopRows {
  def read(bytes: Array[Byte], width: Int): TopRows =
    if (bytes == null) new TopRows(mutable.ArrayBuffer.empty, 0, 0)
    else {
      val in = new Input(bytes)
      val (behind, sequence) = (in.readVarLong(true), in.readVarLong(true))
      new TopRows(RowBag.readFrom(in, width).to(mutable.ArrayBuffer), behind, sequence)
    }

  /** The ranks of rows in order; with ties, equal rows have the same one. */
  def ranks(first: collection.Seq[Entry], ordering: Ordering[InternalRow], ties: String): Array[Int] = {
    val ranks = Array.range(1, first.size + 1)
    if (ties != "rows") (1 until ranks.length).foreach { i =>
      if (ordering.compare(first(i).row, first(i - 1).row) == 0) ranks(i) = ranks(i - 1)
      else if (ties == "dense_rank") ranks(i) = ranks(i - 1) + 1
    }
    ranks
  }
}

private final class TopNLogic(step: TopNStep, counts: Counts) extends KeyedLogic {
  private val rows = step.rows
  private val tied = step.ties != "rows"
  private val ordering = RowOrdering.create(step.orders, rows.stored)
  private val inOrder: Ordering[Entry] = (a, b) => {
    val order = ordering.compare(a.row, b.row)
    if (order != 0) order else java.lang.Long.compare(a.sequence, b.sequence)
  }

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val state = read(store.get(0))
    val before = state.first.map(_.row).toVector
    val ranksBefore = if (tied) ranks(state) else null
    val bag = new RowBag(store, rows.width)
    val changes = events.map { event =>
      counts.add(Counts.Rows, 1)
      counts.add(Counts.Processed, 1)
      event
    }
    if (!rows.isChangelog) changes.foreach(event => add(state, rows.toStored(event.row), bag))
    else {
      val (removed, added) = rows.net(changes).partition(_._2 < 0)
      removed.foreach { case (row, n) => (n until 0).foreach(_ => remove(state, row, bag)) }
      added.foreach { case (row, n) => (0 until n).foreach(_ => add(state, row, bag)) }
      refill(state, bag)
    }
    val after = state.first.map(_.row).toVector
    if (tied) emitTied(before.zip(ranksBefore), after.zip(ranks(state)), out) else emit(before, after, out)
    if (state.first.isEmpty) store.remove(0) else store.put(0, write(state))
  }

  private def add(state: TopRows, row: UnsafeRow, bag: RowBag): Unit = {
    val entry = Entry(row, state.sequence)
    state.sequence += 1
    // Rows are missing from the first ones until `refill`. Those behind are worse than all first ones.
    val better = state.first.nonEmpty && isBetter(entry, state.first.last)
    if (better || (state.behind == 0 && nextRank(state, entry) <= step.n)) {
      state.first.insert(state.first.lastIndexWhere(inOrder.compare(_, entry) < 0) + 1, entry)
      if (!tied) { if (state.first.size > step.n) putBehind(state, state.first.remove(step.n), bag) }
      else if (state.first.size > step.n) {
        val last = ranks(state).lastIndexWhere(_ <= step.n)
        while (state.first.size > last + 1) putBehind(state, state.first.remove(state.first.size - 1), bag)
      }
    } else putBehind(state, entry, bag)
  }

  /** True if a row belongs to the first ones because another one does: it is before it or tied with it. */
  private def isBetter(entry: Entry, last: Entry): Boolean =
    if (tied) ordering.compare(entry.row, last.row) <= 0 else inOrder.compare(entry, last) < 0

  private def ranks(state: TopRows): Array[Int] = TopRows.ranks(state.first, ordering, step.ties)

  /** The rank of a row behind all first ones, if it followed them. */
  private def nextRank(state: TopRows, entry: Entry): Int =
    if (!tied) state.first.size + 1
    else {
      state.first += entry
      val rank = ranks(state).last
      state.first.remove(state.first.size - 1)
      rank
    }

  private def putBehind(state: TopRows, entry: Entry, bag: RowBag): Unit = if (rows.isChangelog) {
    bag.add(entry)
    state.behind += 1
  }

  private def remove(state: TopRows, row: UnsafeRow, bag: RowBag): Unit = {
    val at = state.first.indexWhere(_.row == row)
    if (at >= 0) state.first.remove(at) else if (bag.remove(row)) state.behind -= 1
  }

  /** Moves the best rows behind the first ones up until there are `n`. */
  private def refill(state: TopRows, bag: RowBag): Unit = {
    val missing = math.min((step.n - state.first.size).toLong, state.behind).toInt
    if (tied && state.behind > 0) {
      val waiting = bag.entries.toVector.sorted(inOrder).iterator.buffered
      while (waiting.hasNext && nextRank(state, waiting.head) <= step.n) {
        val entry = waiting.next()
        bag.remove(entry.row)
        state.behind -= 1
        state.first += entry
      }
    } else if (missing > 0) {
      val best = bag.entries.toVector.sorted(inOrder).take(missing)
      best.foreach(entry => bag.remove(entry.row))
      state.behind -= best.size
      state.first ++= best
      state.first.sortInPlace()(inOrder)
    }
  }

  private def emit(before: Vector[UnsafeRow], after: Vector[UnsafeRow], out: TaggedRows): Unit = before
    .zipAll(after, null, null).zipWithIndex.foreach { case ((old, row), i) =>
      Change.between(old, row)(emit(_, i, _, out))
    }

  /** Emits the rows with ranks that are gone, then the new ones: tied rows have no identity by rank. */
  private def emitTied(
      before: Vector[(UnsafeRow, Int)], after: Vector[(UnsafeRow, Int)], out: TaggedRows): Unit = {
    before.diff(after).foreach { case (row, rank) => emit(row, rank - 1, Change.Delete, out) }
    after.diff(before).foreach { case (row, rank) => emit(row, rank - 1, Change.Insert, out) }
  }

  private def emit(row: UnsafeRow, place: Int, change: UTF8String, out: TaggedRows): Unit = out.emit(
    0, new GenericInternalRow(rows.values(row) ++ Array[Any](place + 1, change, change, rows.timeOf(row))))

  private def read(bytes: Array[Byte]): TopRows = TopRows.read(bytes, rows.width)

  private def write(state: TopRows): Array[Byte] = {
    val out = new Output(256, -1)
    out.writeVarLong(state.behind, true)
    out.writeVarLong(state.sequence, true)
    RowBag.writeTo(state.first, out)
    out.toBytes
  }
}
