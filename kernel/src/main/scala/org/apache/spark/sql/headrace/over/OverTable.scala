package org.apache.spark.sql.headrace.over

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.{Change, Counts, Event, Now, RowBytes}
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.unsafe.types.UTF8String

/**
 * Evaluates window functions over the rows of a key in the order of their columns, and emits the results that a
 * micro-batch has changed.
 *
 * Rows are evaluated from the first that a change affects to the last one. Each chunk of rows stores the
 * aggregates and counts of the rows before it, so that no earlier row is read, and the evaluation ends at a
 * chunk for which they stay the same. No aggregate subtracts: rows behind a removed one are added up again.
 */
final class OverTable(step: TableOverStep, counts: Counts) extends KeyedLogic {
  private val rows = step.rows
  private val functions = step.functions
  private val resultTypes = functions.resultTypes.toIndexedSeq
  private val ordering = RowOrdering.create(step.orders.zipWithIndex.map { case (order, i) =>
      order.copy(child = BoundReference(i, order.child.dataType, nullable = true))
    }, Nil)
  private val keyProjection = UnsafeProjection.create(step.orders.map(_.child), rows.stored)
  private val computed = new GenericInternalRow(functions.width)
  private val noRow = new GenericInternalRow(0)
  private val lowAt = step.low.map(a => rows.stored.indexWhere(_.exprId == a.exprId)).getOrElse(-1)
  private val firstOrder = step.orders.headOption.map { order =>
    RowOrdering.create(Seq(order.copy(child = BoundReference(0, order.child.dataType, nullable = true))), Nil)
  }.orNull
  private val lowOf =
    if (lowAt < 0) null
    else UnsafeProjection.create(Seq(BoundReference(lowAt, rows.types(lowAt), nullable = true)))
  private val bounded = step.frame match {
    case RowsBefore(preceding) => preceding.isDefined
    case RangeBefore(preceding) => preceding.isDefined
  }

  /** The number of rows behind a changed one whose own frame or `lag` may contain it. */
  private val reach = math.max(functions.back.toLong,
    step.frame match {
      case RowsBefore(Some(preceding)) => preceding
      case _ => 0L
    })

  private object Stored extends SortedColumns {
    override val rowWidth: Int = rows.width
    override val keyWidth: Int = step.orders.size
    override val resultWidth: Int = functions.resultTypes.length
    override def keyOf(row: UnsafeRow): UnsafeRow = keyProjection(row).copy()
    override def compare(a: UnsafeRow, b: UnsafeRow): Int = ordering.compare(a, b)
  }

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val state = new SortedRows(store, Stored)
    val changed = rows.net(events.map { event =>
      counts.add(Counts.Rows, 1)
      counts.add(Counts.Processed, 1)
      event
    })
    val touched = new Touched
    changed.foreach { case (row, n) => (n until 0).foreach(_ => remove(state, row, touched, out)) }
    changed.foreach { case (row, n) => (0 until n).foreach(_ => touched.add(state.add(row), row)) }
    if (touched.first >= 0 && state.size > 0) evaluate(state, touched, out)
    state.save()
  }

  /** The first and last changed rows, and the last order value of one. */
  private final class Touched {
    var first: Int = -1
    var last: Int = -1
    var key: UnsafeRow = _

    def add(at: Int, row: UnsafeRow): Unit = {
      include(row)
      if (first < 0) {
        first = at
        last = at
      } else {
        last = math.max(if (at <= last) last + 1 else last, at)
        first = math.min(first, at)
      }
    }

    def remove(at: Int, row: UnsafeRow): Unit = {
      include(row)
      if (first < 0) {
        first = at
        last = at
      } else {
        last = math.max(if (at < last) last - 1 else last, at)
        first = math.min(first, at)
      }
    }

    private def include(row: UnsafeRow): Unit = {
      val other = Stored.keyOf(row)
      if (key == null || Stored.compare(other, key) > 0) key = other
    }
  }

  private def remove(state: SortedRows, row: UnsafeRow, touched: Touched, out: TaggedRows): Unit = {
    val at = state.indexOf(row)
    if (at >= 0) {
      val entry = state.remove(at)
      if (entry.emitted != null) emit(entry, entry.emitted, Change.Delete, out)
      touched.remove(at, row)
    }
  }

  /** What the results of a row need to know of the rows before it. */
  private final class Running(val buffer: InternalRow, var groups: Long)

  private def evaluate(state: SortedRows, touched: Touched, out: TaggedRows): Unit = {
    val first = groupStart(state, math.max(0, math.min(touched.first, state.size - 1) - functions.ahead))
    val before = groupStart(state, math.max(0, first - 1)) // the peers of a removed last row
    val (chunk, prefix) = state.prefixOf(before)
    val running = read(prefix)
    (chunk until before).foreach { i =>
      enter(state, running, i)
      pass(state, running, i)
    }
    var low = before
    var i = before
    var changes = true
    while (i < state.size && changes) {
      if (i > math.max(touched.last, 0) && state.startsChunk(i) && !reaches(state, touched, i)) {
        changes = state.setPrefix(i, write(running, i))
      }
      if (changes) {
        val end = groupEnd(state, i)
        low = frameStart(state, low, i)
        group(state, running, i, end, low, out)
        i = end
      }
    }
  }

  /** Evaluates a group of peers. */
  private def group(
      state: SortedRows, running: Running, start: Int, end: Int, low: Int, out: TaggedRows): Unit =
    step.frame match {
      case RowsBefore(preceding) => (start until end).foreach { i =>
          enter(state, running, i)
          pass(state, running, i)
          val from = preceding.fold(0)(n => math.max(0L, i - n).toInt)
          finish(state, running, i, start, aggregate(state, running, from, i + 1), out)
        }
      case RangeBefore(_) =>
        (start until end).foreach { i =>
          enter(state, running, i)
          pass(state, running, i)
        }
        val result = aggregate(state, running, low, end)
        (start until end).foreach(i => finish(state, running, i, start, result, out))
    }

  /** Stores the running aggregates before a row if it is the first of its chunk. */
  private def enter(state: SortedRows, running: Running, i: Int): Unit =
    if (i > 0 && state.startsChunk(i)) state.setPrefix(i, write(running, i))

  /** Adds a row to the running aggregates. */
  private def pass(state: SortedRows, running: Running, i: Int): Unit = {
    if (functions.usesGroups && (i == 0 || Stored.compare(state(i - 1).key, state(i).key) != 0)) {
      running.groups += 1
    }
    if (running.buffer != null) functions.aggregates.get.update(running.buffer, state(i).row)
  }

  private def aggregate(state: SortedRows, running: Running, from: Int, until: Int): InternalRow = functions
    .aggregates.fold[InternalRow](noRow) { aggregates =>
      val buffer =
        if (running.buffer != null) running.buffer
        else {
          val own = aggregates.create()
          (from until until).foreach(i => aggregates.update(own, state(i).row))
          own
        }
      aggregates.result(buffer, InternalRow.empty)
    }

  private def finish(state: SortedRows, running: Running, i: Int, start: Int, frame: InternalRow,
      out: TaggedRows): Unit = {
    val entry = state(i)
    functions.set(computed, frame, i, start, running.groups)
    if (functions.neighbours.nonEmpty) {
      functions.setNeighbours(computed, functions.valuesOf(entry.row).copy()) { shift =>
        val other = i + shift
        if (other < 0 || other >= state.size) null else functions.valuesOf(state(other).row)
      }
    }
    val result = functions.result(entry.row, computed)
    if (result != entry.result) {
      state.setResult(i, result)
      Change.between(entry.emitted, result)((values, change) => emit(entry, values, change, out))
    }
  }

  private def emit(entry: TableRow, result: UnsafeRow, change: UTF8String, out: TaggedRows): Unit = {
    val values = rows.values(entry.row) ++ result.toSeq(resultTypes) ++
      Array[Any](change, change, rows.timeOf(entry.row))
    out.emit(0, new GenericInternalRow(values.toArray[Any]))
  }

  private def groupStart(state: SortedRows, i: Int): Int = {
    var start = i
    while (start > 0 && Stored.compare(state(start - 1).key, state(i).key) == 0) start -= 1
    start
  }

  private def groupEnd(state: SortedRows, i: Int): Int = {
    var end = i + 1
    while (end < state.size && Stored.compare(state(i).key, state(end).key) == 0) end += 1
    end
  }

  /** The first row of the frame of a group, at or behind that of an earlier group. */
  private def frameStart(state: SortedRows, earlier: Int, start: Int): Int = step.frame match {
    case RangeBefore(Some(_)) =>
      val low = lowOf(state(start).row)
      if (low.isNullAt(0)) start
      else {
        var at = math.min(earlier, start)
        while (at > 0 && firstOrder.compare(state(at - 1).key, low) >= 0) at -= 1
        while (at < start && firstOrder.compare(state(at).key, low) < 0) at += 1
        at
      }
    case _ => 0
  }

  /** True if the frame or `lag` of a row behind the changed ones may contain one of them. */
  private def reaches(state: SortedRows, touched: Touched, i: Int): Boolean = i <= touched.last + reach ||
    (step.frame match {
      case RangeBefore(Some(_)) =>
        val low = lowOf(state(i).row)
        !low.isNullAt(0) && firstOrder.compare(touched.key, low) >= 0
      case _ => false
    })

  private def read(bytes: Array[Byte]): Running =
    if (bytes == null) new Running(newBuffer, 0)
    else {
      val in = new Input(bytes)
      if (functions.usesIndex) in.readVarInt(true)
      val groups = if (functions.usesGroups) in.readVarLong(true) else 0L
      new Running(if (hasBuffer) functions.aggregates.get.read(RowBytes.read(in)) else null, groups)
    }

  /** Encodes what results need to know of the rows before row `i`. */
  private def write(running: Running, i: Int): Array[Byte] = {
    val out = new Output(64, -1)
    if (functions.usesIndex) out.writeVarInt(i, true)
    if (functions.usesGroups) out.writeVarLong(running.groups, true)
    if (running.buffer != null) RowBytes.write(functions.aggregates.get.write(running.buffer), out)
    out.toBytes
  }

  private def hasBuffer: Boolean = functions.aggregates.isDefined && !bounded
  private def newBuffer: InternalRow = if (hasBuffer) functions.aggregates.get.create() else null
}
