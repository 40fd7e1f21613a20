package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.headrace.operators.{Aggregates, Counts, Event, LateReason, Now, Time}

/** The rows of one key in one slice of time. */
final class Slice(val start: Long) {
  var buffer: InternalRow = _
  var rows: Long = 0
  var newest: Long = Long.MinValue
}

/** What a key remembers besides its slices. */
final class SliceState {
  /** Windows that end here or before have fired. */
  var fired: Long = Time.None
  /** When a timer comes, in milliseconds. */
  var wake: Long = Long.MaxValue
  /** The start of the first slice. */
  var earliest: Long = Long.MaxValue
  /** The numbers of the chunks that hold slices. */
  val chunks: mutable.TreeSet[Long] = mutable.TreeSet.empty
}

/**
 * Sliding windows that fire once: a row goes into the one slice of time it is in, however many windows that slice is
 * part of, and a window is put together of its slices when the watermark passes its end. SlicedWindows lie in the state in
 * chunks, so that a batch reads and writes a few entries for each key.
 */
final class SlicedWindows(panes: Panes, grid: WindowGrid) extends WindowLogic {
  private val codec = new SliceCodec(panes.aggregates, panes.fingerprint)
  private val counts = panes.counts

  override def onRows(key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: WindowEmitter): Unit = {
    val open = new SliceChunks(store, codec, grid.slice)
    advance(key, open, now, out)
    events.foreach { event =>
      counts.add(Counts.Rows, event.rows)
      if (event.at == Time.None) late(event, None, now, LateReason.NoEventTime, out)
      else {
        val own = grid.last(event.at)
        val tooLate = event.at < 0 || now.watermark >= grid.end(own)
        if (tooLate) late(event, Some((own, grid.end(own))), now, LateReason.TooLate, out) else fold(open, event, own, now)
      }
    }
    settle(open, store)
  }

  override def onTimer(key: InternalRow, store: SlotStore, due: Long, now: Now, out: WindowEmitter): Unit = {
    val open = new SliceChunks(store, codec, grid.slice)
    if (open.state.wake <= due) open.state.wake = Long.MaxValue
    advance(key, open, now, out)
    settle(open, store)
  }

  private def fold(open: SliceChunks, event: Event, own: Long, now: Now): Unit = {
    val slice = open.at(grid.sliceOf(event.at))
    if (slice.buffer == null) {
      slice.buffer = panes.aggregates.create()
      counts.add(Counts.Windows, opened(open, slice.start, own, now))
    }
    if (event.buffer == null) panes.aggregates.update(slice.buffer, event.row)
    else panes.aggregates.merge(slice.buffer, event.buffer)
    slice.rows += event.rows
    slice.newest = math.max(slice.newest, event.at)
    val all = startsBetween(event.at - grid.size, own)
    val taken = startsBetween(math.max(event.at, now.watermark) - grid.size, own)
    counts.add(Counts.Folded, event.rows)
    counts.add(Counts.Placed, taken * event.rows)
    counts.add(Counts.Missed, (all - taken) * event.rows)
  }

  /** How many windows start after a time, up to the one that starts at `own`. */
  private def startsBetween(after: Long, own: Long): Long =
    math.max(0, Math.floorDiv(own - after - 1, grid.every) + 1)

  /** How many windows have their first rows with a new slice: those without the slices before and after it. */
  private def opened(open: SliceChunks, start: Long, own: Long, now: Now): Long = {
    val (before, after) = open.around(start)
    val upTo = if (after == Long.MaxValue) own else math.min(own, grid.last(after - grid.size))
    startsBetween(math.max(before, math.max(start, now.watermark) - grid.size), upTo)
  }

  /** Fires the windows that the watermark has passed, and lets go of slices that are in no window to come. */
  private def advance(key: InternalRow, open: SliceChunks, now: Now, out: WindowEmitter): Unit = {
    if (next(open.state) <= now.watermark) {
      val slices = open.all
      SlicedWindows.windows(grid, slices, open.state.fired, now.watermark)((from, end) => fire(key, slices, from, end, out))
      open.drop(start => grid.end(grid.last(start)) <= now.watermark)
    }
    open.state.fired = math.max(open.state.fired, now.watermark)
  }

  /** The end of the first window to fire. */
  private def next(state: SliceState): Long =
    if (state.earliest == Long.MaxValue) Long.MaxValue else grid.endAfter(math.max(state.earliest, state.fired))

  private def fire(key: InternalRow, slices: Array[Slice], from: Int, end: Long, out: WindowEmitter): Unit = {
    val cell = SlicedWindows.window(panes.aggregates, grid, slices, from, end)
    val values = panes.aggregates.result(cell.buffer, key).getBytes
    out.pane(key, Pane(cell.start, end, 0, cell.newest, 0, PaneTiming.OnTime, values), retraction = false)
    counts.add(Counts.Panes, 1)
    counts.add(Counts.Expired, 1)
    counts.add(Counts.Settled, cell.rows)
  }

  private def settle(open: SliceChunks, store: SlotStore): Unit = {
    val at = Time.millis(next(open.state))
    if (at < open.state.wake) {
      open.state.wake = at
      store.setTimer(at)
    }
    open.write()
  }

  private def late(event: Event, window: Option[(Long, Long)], now: Now, reason: String, out: WindowEmitter): Unit = {
    counts.add(Counts.Late, 1)
    out.late(event, window, now, reason)
  }
}

object SlicedWindows {
  /**
   * The windows with rows that end after a time, up to another, one after the other.
   *
   * @param found gets the number of a window's first slice, and the window's end
   */
  def windows(grid: WindowGrid, slices: Array[Slice], after: Long, until: Long)(found: (Int, Long) => Unit): Unit = {
    var from = 0
    var end = if (slices.isEmpty) Long.MaxValue else grid.endAfter(math.max(slices(0).start, after))
    while (from < slices.length && end <= until) {
      if (slices(from).start < end - grid.size) from += 1
      else if (slices(from).start >= end) end = grid.endAfter(slices(from).start)
      else {
        found(from, end)
        end += grid.every
      }
    }
  }

  /** A window, put together of its slices. */
  def window(aggregates: Aggregates, grid: WindowGrid, slices: Array[Slice], from: Int, end: Long): WindowState = {
    val cell = new WindowState(end - grid.size, end, 0, aggregates.create(), null)
    var i = from
    while (i < slices.length && slices(i).start < end) {
      aggregates.merge(cell.buffer, aggregates.write(slices(i).buffer))
      cell.rows += slices(i).rows
      cell.newest = math.max(cell.newest, slices(i).newest)
      i += 1
    }
    cell.fresh = cell.rows
    cell
  }
}

/** The slices of one key during a call: chunks are read when they are looked at, and written when they have changed. */
private final class SliceChunks(store: SlotStore, codec: SliceCodec, length: Long) {
  val state: SliceState = codec.state(store.get(SliceCodec.State))
  private val read = mutable.LongMap.empty[mutable.TreeMap[Long, Slice]]
  private val changed = mutable.LongMap.empty[Unit]

  /** The slice that starts there. */
  def at(start: Long): Slice = {
    val number = Math.floorDiv(start, length * SliceCodec.Chunk)
    state.earliest = math.min(state.earliest, start)
    state.chunks += number
    changed.put(number, ())
    chunk(number).getOrElseUpdate(start, new Slice(start))
  }

  /** The starts of the slices next to one, before and after it: Long.MinValue and Long.MaxValue where there are none. */
  def around(start: Long): (Long, Long) = {
    val number = Math.floorDiv(start, length * SliceCodec.Chunk)
    val before = chunk(number).maxBefore(start).map(_._1)
      .orElse(state.chunks.maxBefore(number).flatMap(chunk(_).lastOption.map(_._1)))
    val after = chunk(number).minAfter(start + 1).map(_._1)
      .orElse(state.chunks.minAfter(number + 1).flatMap(chunk(_).headOption.map(_._1)))
    (before.getOrElse(Long.MinValue), after.getOrElse(Long.MaxValue))
  }

  /** All slices in the order of time. */
  def all: Array[Slice] = state.chunks.iterator.flatMap(chunk(_).valuesIterator).toArray

  /** Lets go of slices from the first one on. */
  def drop(over: Long => Boolean): Unit = {
    state.chunks.toArray.foreach { number =>
      val slices = chunk(number)
      val gone = slices.keysIterator.takeWhile(over).toArray
      slices --= gone
      if (gone.nonEmpty) changed.put(number, ())
      if (slices.isEmpty) state.chunks -= number
    }
    state.earliest = state.chunks.headOption.fold(Long.MaxValue)(chunk(_).firstKey)
  }

  def write(): Unit = {
    changed.keysIterator.foreach { number =>
      if (chunk(number).isEmpty) store.remove(number) else store.put(number, codec.write(chunk(number).values))
    }
    if (state.chunks.isEmpty && state.wake == Long.MaxValue) store.remove(SliceCodec.State)
    else store.put(SliceCodec.State, codec.write(state))
  }

  private def chunk(number: Long): mutable.TreeMap[Long, Slice] =
    read.getOrElseUpdate(number, mutable.TreeMap.from(codec.slices(store.get(number)).map(s => s.start -> s)))
}

/** SlicedWindows and what a key remembers beside them, as bytes. */
final class SliceCodec(aggregates: Aggregates, fingerprint: Int) {
  private val out = new Output(1024, -1)

  def write(state: SliceState): Array[Byte] = {
    out.clear()
    out.writeLong(state.fired)
    out.writeLong(state.wake)
    out.writeLong(state.earliest)
    out.writeVarInt(state.chunks.size, true)
    state.chunks.foreach(out.writeLong)
    out.toBytes
  }

  def state(bytes: Array[Byte]): SliceState = {
    val state = new SliceState
    if (bytes != null) {
      val in = new Input(bytes)
      state.fired = in.readLong()
      state.wake = in.readLong()
      state.earliest = in.readLong()
      (0 until in.readVarInt(true)).foreach(_ => state.chunks += in.readLong())
    }
    state
  }

  def write(slices: Iterable[Slice]): Array[Byte] = {
    out.clear()
    WindowStateCodec.mark(out, fingerprint)
    out.writeVarInt(slices.size, true)
    slices.foreach { slice =>
      out.writeLong(slice.start)
      out.writeVarLong(slice.rows, true)
      out.writeVarLong(slice.newest - slice.start, true)
      val bytes = aggregates.write(slice.buffer)
      out.writeVarInt(bytes.length, true)
      out.writeBytes(bytes)
    }
    out.toBytes
  }

  def slices(bytes: Array[Byte]): Seq[Slice] = if (bytes == null) Nil else {
    val in = new Input(bytes)
    WindowStateCodec.check(in, fingerprint)
    Vector.fill(in.readVarInt(true)) {
      val slice = new Slice(in.readLong())
      slice.rows = in.readVarLong(true)
      slice.newest = slice.start + in.readVarLong(true)
      slice.buffer = aggregates.read(in.readBytes(in.readVarInt(true)))
      slice
    }
  }
}

object SliceCodec {
  /** The slot of what a key remembers beside its slices. */
  val State: Long = Long.MinValue
  /** So many slices are one entry of the state. */
  val Chunk = 64
}
