package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.{SlotStore, TimedState}
import org.apache.spark.sql.headrace.operators.{Aggregates, Counts, Event, LateReason, Now, RowBytes, Time}

/** Aggregate of one key and time slice. */
final class Slice(val start: Long) {
  var buffer: InternalRow = _
  var rows: Long = 0
  var newest: Long = Long.MinValue
}

/** State of a key besides its slices. */
final class SliceState extends TimedState {
  /** Windows that end by this time have fired. */
  var firedUntil: Long = Time.None

  /** Start of the first slice. */
  var earliest: Long = Long.MaxValue

  /** Numbers of the chunks that hold slices. */
  val chunks: mutable.TreeSet[Long] = mutable.TreeSet.empty
}

/**
 * Sliding and cumulating windows that fire once. A row updates one slice, and a window is merged from its slices when the
 * watermark passes its end. Slices are stored in chunks, so a micro-batch reads and writes few entries per
 * key.
 */
final class SlicedWindows(panes: Panes, grid: SliceGrid) extends KeyedLogic {
  private val codec = new SliceCodec(panes.aggregates, panes.fingerprint)
  private val counts = panes.counts

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val open = new SliceChunks(store, codec, grid.slice)
    advance(key, open, now, out)
    events.foreach { event =>
      counts.add(Counts.Rows, event.rows)
      if (event.at == Time.None) panes.emitLate(event, None, now, LateReason.NoEventTime, out)
      else {
        val end = grid.lastEnd(event.at)
        val tooLate = event.at < 0 || now.watermark >= end
        if (tooLate) panes.emitLate(event, Some((grid.startOf(end), end)), now, LateReason.TooLate, out)
        else fold(open, event, end, now)
      }
    }
    save(open, store)
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: TaggedRows): Unit = {
    val open = new SliceChunks(store, codec, grid.slice)
    open.state.onTimer(due)
    advance(key, open, now, out)
    save(open, store)
  }

  private def fold(open: SliceChunks, event: Event, lastEnd: Long, now: Now): Unit = {
    val slice = open.at(grid.sliceOf(event.at))
    if (slice.buffer == null) {
      slice.buffer = panes.aggregates.create()
      counts.add(Counts.OpenWindows, newWindows(open, slice.start, lastEnd, now))
    }
    if (event.buffer == null) panes.aggregates.update(slice.buffer, event.row)
    else panes.aggregates.merge(slice.buffer, event.buffer)
    slice.rows += event.rows
    slice.newest = math.max(slice.newest, event.at)
    val all = endsBetween(event.at, lastEnd)
    val taken = endsBetween(math.max(event.at, now.watermark), lastEnd)
    counts.add(Counts.Processed, event.rows)
    counts.add(Counts.Assigned, taken * event.rows)
    counts.add(Counts.Missed, (all - taken) * event.rows)
  }

  /** Number of windows that end after a time, up to the one that ends at `last`. */
  private def endsBetween(after: Long, last: Long): Long = math
    .max(0, Math.floorDiv(last - after - 1, grid.every) + 1)

  /** Number of windows that get their first rows with a new slice: those without its neighbours. */
  private def newWindows(open: SliceChunks, start: Long, lastEnd: Long, now: Now): Long = {
    val (before, after) = open.around(start)
    val upTo =
      if (after == Long.MaxValue) lastEnd else math.min(lastEnd, grid.firstEndAfter(after) - grid.every)
    val known = if (before == Long.MinValue) before else grid.lastEnd(before)
    endsBetween(math.max(known, math.max(start, now.watermark)), upTo)
  }

  /** Fires the windows that the watermark has passed and drops slices that no later window contains. */
  private def advance(key: InternalRow, open: SliceChunks, now: Now, out: TaggedRows): Unit = {
    if (next(open.state) <= now.watermark) {
      val slices = open.all
      SlicedWindows.windows(grid, slices, open.state.firedUntil, now.watermark)((from, end) =>
        fire(key, slices, from, end, out))
      open.drop(start => grid.lastEnd(start) <= now.watermark)
    }
    open.state.firedUntil = math.max(open.state.firedUntil, now.watermark)
  }

  /** End of the next window to fire. */
  private def next(state: SliceState): Long =
    if (state.earliest == Long.MaxValue) Long.MaxValue
    else grid.firstEndAfter(math.max(state.earliest, state.firedUntil))

  private def fire(key: InternalRow, slices: Array[Slice], from: Int, end: Long, out: TaggedRows): Unit = {
    val window = SlicedWindows.window(panes.aggregates, grid, slices, from, end)
    val values = panes.aggregates.result(window.buffer, key).getBytes
    panes.emit(
      key, Pane(window.start, end, 0, window.newest, 0, PaneTiming.OnTime, values), retraction = false, out)
    counts.add(Counts.OpenWindows, -1)
    counts.add(Counts.Emitted, window.rows)
  }

  private def save(open: SliceChunks, store: SlotStore): Unit = {
    open.state.setTimer(Time.millis(next(open.state)), store)
    open.write()
  }
}

object SlicedWindows {
  /**
   * Calls `window` for each non-empty window that ends in `(after, until]`.
   *
   * @param window receives the index of the window's first slice, and its end
   */
  def windows(grid: SliceGrid, slices: Array[Slice], after: Long, until: Long)(
      window: (Int, Long) => Unit): Unit = {
    var from = 0
    var end = if (slices.isEmpty) Long.MaxValue else grid.firstEndAfter(math.max(slices(0).start, after))
    while (from < slices.length && end <= until) {
      if (slices(from).start < grid.startOf(end)) from += 1
      else if (slices(from).start >= end) end = grid.firstEndAfter(slices(from).start)
      else {
        window(from, end)
        end += grid.every
      }
    }
  }

  def window(
      aggregates: Aggregates, grid: SliceGrid, slices: Array[Slice], from: Int, end: Long): WindowState = {
    val window = new WindowState(grid.startOf(end), end, 0, aggregates.create(), null)
    var i = from
    while (i < slices.length && slices(i).start < end) {
      aggregates.merge(window.buffer, aggregates.write(slices(i).buffer))
      window.rows += slices(i).rows
      window.newest = math.max(window.newest, slices(i).newest)
      i += 1
    }
    window.unfired = window.rows
    window
  }
}

/** The slices of one key during a call. Chunks are read on access and written if changed. */
private final class SliceChunks(store: SlotStore, codec: SliceCodec, length: Long) {
  val state: SliceState = codec.state(store.get(SliceCodec.State))
  private val read = mutable.LongMap.empty[mutable.TreeMap[Long, Slice]]
  private val changed = mutable.LongMap.empty[Unit]

  def at(start: Long): Slice = {
    val number = Math.floorDiv(start, length * SliceCodec.SlicesPerChunk)
    state.earliest = math.min(state.earliest, start)
    state.chunks += number
    changed.put(number, ())
    chunk(number).getOrElseUpdate(start, new Slice(start))
  }

  /** Starts of the neighbouring slices; Long.MinValue and Long.MaxValue for none. */
  def around(start: Long): (Long, Long) = {
    val number = Math.floorDiv(start, length * SliceCodec.SlicesPerChunk)
    val before = chunk(number).maxBefore(start).map(_._1)
      .orElse(state.chunks.maxBefore(number).flatMap(chunk(_).lastOption.map(_._1)))
    val after = chunk(number).minAfter(start + 1).map(_._1)
      .orElse(state.chunks.minAfter(number + 1).flatMap(chunk(_).headOption.map(_._1)))
    (before.getOrElse(Long.MinValue), after.getOrElse(Long.MaxValue))
  }

  def all: Array[Slice] = state.chunks.iterator.flatMap(chunk(_).valuesIterator).toArray

  /** Drops slices from the first one on. */
  def drop(over: Long => Boolean): Unit = {
    state.chunks.toArray.foreach { number =>
      val slices = chunk(number)
      val dropped = slices.keysIterator.takeWhile(over).toArray
      slices --= dropped
      if (dropped.nonEmpty) changed.put(number, ())
      if (slices.isEmpty) state.chunks -= number
    }
    state.earliest = state.chunks.headOption.fold(Long.MaxValue)(chunk(_).firstKey)
  }

  def write(): Unit = {
    changed.keysIterator.foreach { number =>
      if (chunk(number).isEmpty) store.remove(number)
      else store.put(number, codec.write(chunk(number).values))
    }
    if (state.chunks.isEmpty && state.timerAt == Long.MaxValue) store.remove(SliceCodec.State)
    else store.put(SliceCodec.State, codec.write(state))
  }

  private def chunk(number: Long): mutable.TreeMap[Long, Slice] = read
    .getOrElseUpdate(number, mutable.TreeMap.from(codec.slices(store.get(number)).map(s => s.start -> s)))
}

/** Encodes slices and the state beside them. */
final class SliceCodec(aggregates: Aggregates, fingerprint: Int) {
  private val out = new Output(1024, -1)

  def write(state: SliceState): Array[Byte] = {
    out.clear()
    out.writeLong(state.firedUntil)
    out.writeLong(state.timerAt)
    out.writeLong(state.earliest)
    out.writeVarInt(state.chunks.size, true)
    state.chunks.foreach(out.writeLong)
    out.toBytes
  }

  def state(bytes: Array[Byte]): SliceState = {
    val state = new SliceState
    if (bytes != null) {
      val in = new Input(bytes)
      state.firedUntil = in.readLong()
      state.timerAt = in.readLong()
      state.earliest = in.readLong()
      (0 until in.readVarInt(true)).foreach(_ => state.chunks += in.readLong())
    }
    state
  }

  def write(slices: Iterable[Slice]): Array[Byte] = {
    out.clear()
    WindowStateCodec.writeHeader(out, fingerprint)
    out.writeVarInt(slices.size, true)
    slices.foreach { slice =>
      out.writeLong(slice.start)
      out.writeVarLong(slice.rows, true)
      out.writeVarLong(slice.newest - slice.start, true)
      RowBytes.write(aggregates.write(slice.buffer), out)
    }
    out.toBytes
  }

  def slices(bytes: Array[Byte]): Seq[Slice] =
    if (bytes == null) Nil
    else {
      val in = new Input(bytes)
      WindowStateCodec.checkHeader(in, fingerprint)
      Vector.fill(in.readVarInt(true)) {
        val slice = new Slice(in.readLong())
        slice.rows = in.readVarLong(true)
        slice.newest = slice.start + in.readVarLong(true)
        slice.buffer = aggregates.read(RowBytes.read(in))
        slice
      }
    }
}

object SliceCodec {
  /** Slot of the state beside the slices. */
  val State: Long = Long.MinValue

  /** Slices per state entry. */
  val SlicesPerChunk = 64
}
