package org.apache.spark.sql.headrace.python

import java.nio.ByteBuffer
import java.util.{ArrayDeque, LinkedHashSet}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.{ImplicitGroupingKeyTracker, StatefulProcessorHandleImpl}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateImpl
import org.apache.spark.sql.headrace.compat.HandleInternals
import org.apache.spark.sql.headrace.operators.{Counts, Now, Time}
import org.apache.spark.sql.headrace.operators.keyed.KeyedProcessor
import org.apache.spark.sql.headrace.operators.state.{SlotStore, StateLayout}
import org.apache.spark.sql.streaming.TimeMode

/** Runs a processor in Python on Spark's state: one entry per key, and the times at which keys are due. */
final class PythonProcessor(val step: PythonStep, keys: Seq[Attribute], columns: Seq[Attribute],
    encoder: ExpressionEncoder[Any], counts: Counts)
    extends KeyedProcessor(encoder, true, step.clockTime, counts) {
  override protected def layout: StateLayout = StateLayout("state", encoder)

  override protected def onRows(
      key: InternalRow, store: SlotStore, rows: Iterator[InternalRow], now: Now): Iterator[InternalRow] = {
    val task = rows.next().asInstanceOf[TaskRows]
    val visits =
      new KeyVisits(step, keys, columns, store, new DueTimes(step, encoder, getHandle), now, counts)
    visits.run(task)
  }

  /** Due keys are visited before the rows; Spark's own call comes after them and finds none. */
  override protected def onTimer(
      key: InternalRow, store: SlotStore, due: Long, now: Now): Iterator[InternalRow] = Iterator.empty
}

/** The times at which keys are due, by event time and by the clock; a key is due once in each. */
private final class DueTimes(step: PythonStep, encoder: ExpressionEncoder[Any],
    handle: org.apache.spark.sql.streaming.StatefulProcessorHandle) {
  private val store = HandleInternals.store(handle.asInstanceOf[StatefulProcessorHandleImpl])
  private val event = if (step.eventTimers) new TimerStateImpl(store, TimeMode.EventTime(), encoder) else null
  private val clock =
    if (step.clockTimers) new TimerStateImpl(store, TimeMode.ProcessingTime(), encoder) else null

  /** Removes and returns the keys that are due. */
  def take(now: Now): LinkedHashSet[UnsafeRow] = {
    val due = new LinkedHashSet[UnsafeRow]
    take(event, now.watermark, due)
    take(clock, now.clock, due)
    due
  }

  private def take(times: TimerStateImpl, until: Long, due: LinkedHashSet[UnsafeRow]): Unit =
    if (times != null && until != Time.None) {
      val expired = times.getExpiredTimers(Time.floor(until)).map { case (key, millis) =>
        (key.asInstanceOf[UnsafeRow].copy(), millis)
      }.toArray
      expired.foreach { case (key, millis) =>
        ImplicitGroupingKeyTracker.setImplicitKey(key)
        times.deleteTimer(millis)
        due.add(key)
      }
    }

  /** Replaces the times of the current key; those up to `now` have been removed. */
  def set(before: Due, after: Due, now: Now): Unit = {
    replace(event, before.event, after.event, Time.floor(now.watermark))
    replace(clock, before.clock, after.clock, Time.floor(now.clock))
  }

  private def replace(times: TimerStateImpl, before: Long, after: Long, now: Long): Unit =
    if (times != null && before != after) {
      if (before != Due.Never && before > now) times.deleteTimer(before)
      if (after != Due.Never) times.registerTimer(after)
    }
}

/** When a key is due, in milliseconds. */
private final case class Due(event: Long, clock: Long)

private object Due {
  val Never: Long = Long.MaxValue
  val Bytes = 16
  val None: Due = Due(Never, Never)
}

/** A key on its way through Python. */
private final case class PendingKey(key: UnsafeRow, before: Due, wasDue: Boolean)

/** Visits the keys of a task: those with rows, in key order, then those that are only due. */
private final class KeyVisits(step: PythonStep, keys: Seq[Attribute], columns: Seq[Attribute],
    store: SlotStore, times: DueTimes, now: Now, counts: Counts) {
  private val pending = new ArrayDeque[PendingKey]
  private val due = times.take(now)
  private val keyOf = UnsafeProjection.create(keys, columns)
  private val added = new GenericInternalRow(PythonStep.Added.length)
  private val joined = new JoinedRow
  private val tagged = step.results.length - PythonStep.Control.length
  private val hasTime = step.eventTimers || step.clockTime
  private val watermark: Any = if (now.watermark == Time.None || !hasTime) null else now.watermark
  private val view = RowPositions.drop(columns)
  private var positions: RowPositions = _
  private var current: UnsafeRow = _

  def run(task: TaskRows): Iterator[InternalRow] = {
    positions = RowPositions.begin(step.name, columns, task.batch)
    val input = task.rows.map(withState) ++ onlyDue
    new WatchedRows(step.name, task.python.createEvaluator().eval(0, input)).filter { result =>
      val tag = result.getUTF8String(0)
      if (tag == PythonStep.Visited) save(result) else if (tag == PythonStep.Late) move(Counts.Late, 1)
      tag != PythonStep.Visited
    }
  }

  private def withState(row: InternalRow): InternalRow = {
    counts.add(Counts.Rows, 1)
    counts.add(Counts.Processed, 1)
    val key = keyOf(row)
    val isNew = current == null || key != current
    if (isNew) current = key.copy()
    visit(row, if (isNew) PythonStep.NewKey else PythonStep.SameKey)
  }

  /** Keys without rows in this micro-batch. Lazy: the keys with rows have been removed by then. */
  private def onlyDue: Iterator[InternalRow] = new Iterator[InternalRow] {
    private lazy val rest = due.iterator
    private val rowOf = UnsafeProjection
      .create(columns.map(c => if (keys.exists(_.exprId == c.exprId)) c else Literal(null, c.dataType)), keys)
    override def hasNext: Boolean = rest.hasNext
    override def next(): InternalRow = {
      current = rest.next()
      visit(rowOf(current), PythonStep.KeyWithoutRow)
    }
  }

  private def visit(row: InternalRow, kind: Byte): InternalRow = {
    val isNew = kind != PythonStep.SameKey
    added.update(0, if (isNew) restore(kind) else null)
    added.setByte(1, kind)
    added.update(2, if (isNew) watermark else null)
    added.update(3, if (isNew) now.clock else null)
    if (positions != null) positions.add(row)
    view.project(row)
    joined(view, added)
  }

  /** Reads the state of the current key. */
  private def restore(kind: Byte): Array[Byte] = {
    val wasDue = if (kind == PythonStep.NewKey) due.remove(current) else true
    bind(current)
    val stored = store.get(0L)
    val buffer = if (stored == null) null else ByteBuffer.wrap(stored)
    val before = if (stored == null) Due.None else Due(buffer.getLong, buffer.getLong)
    pending.add(PendingKey(current, before, wasDue))
    if (stored == null) null else java.util.Arrays.copyOfRange(stored, Due.Bytes, stored.length)
  }

  /** Stores the state of the next pending key, which Python has visited. */
  private def save(result: InternalRow): Unit = {
    val visited = pending.poll()
    move(Counts.Buffered, result.getLong(tagged + 4))
    if (result.getBoolean(tagged + 1) || visited.wasDue) {
      bind(visited.key)
      val after = Due(dueAt(result, tagged + 2, now.watermark), dueAt(result, tagged + 3, now.clock))
      times.set(visited.before, after, now)
      if (result.isNullAt(tagged)) store.remove(0L)
      else {
        val content = result.getBinary(tagged)
        store.put(0L,
          ByteBuffer.allocate(Due.Bytes + content.length).putLong(after.event).putLong(after.clock)
            .put(content).array())
      }
    }
  }

  /** Counts rows as late or buffered that were counted as processed. */
  private def move(which: Int, n: Long): Unit = {
    counts.add(which, n)
    counts.add(Counts.Processed, -n)
  }

  /** When a key is due, after the present; never once the input has ended. */
  private def dueAt(result: InternalRow, column: Int, present: Long): Long =
    if (result.isNullAt(column) || now.ended) Due.Never
    else math.max(Time.millis(result.getLong(column)),
      if (present == Time.None) Long.MinValue else Time.floor(present) + 1)

  private def bind(key: UnsafeRow): Unit = {
    ImplicitGroupingKeyTracker.setImplicitKey(key)
    store.bind(key)
  }
}
