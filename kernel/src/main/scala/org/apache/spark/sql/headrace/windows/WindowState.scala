package org.apache.spark.sql.headrace.windows

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.Aggregates

/** When a pane came, as seen from its window's end. */
object PaneTiming {
  val Early: Byte = 0
  val OnTime: Byte = 1
  val Late: Byte = 2
  val Names: Seq[String] = Seq("early", "on_time", "late")
}

/** A pane as it was emitted: what a retraction says again. */
final case class Pane(
    start: Long, end: Long, number: Long, newest: Long, index: Int, timing: Byte, values: Array[Byte])

/** One open window of one key. Mutable: it lives for one call between two states. */
final class WindowState(var start: Long, var end: Long, var number: Long, var buffer: InternalRow, var trigger: TriggerState) {
  /** WindowRows in it, and those among them that no pane has shown. */
  var rows: Long = 0
  var fresh: Long = 0
  /** WindowRows of this call that the trigger has not been told of. */
  var added: Long = 0
  /** The next pane's index. */
  var index: Int = 0
  /** The event time of the newest row. */
  var newest: Long = Long.MinValue
  /** The trigger has finished: nothing more is taken in. */
  var closed: Boolean = false
  /** The watermark has been seen at or behind the end. */
  var passed: Boolean = false
  /** When a timer comes for it, in milliseconds; Long.MaxValue for none. */
  var wake: Long = Long.MaxValue
  /** What was emitted last, and what a merge has left to retract. */
  var last: Pane = _
  var pending: List[Pane] = Nil
  /** A value of the window's first row, where the kind of window wants one. */
  var base: Double = Double.NaN
}

/** Cells as bytes. The first ones tell a cell of another version or another declaration, which is refused. */
final class WindowStateCodec(trigger: Trigger, aggregates: Aggregates, fingerprint: Int, carries: Boolean) {
  private val out = new Output(256, -1)

  def write(cell: WindowState): Array[Byte] = {
    out.clear()
    WindowStateCodec.mark(out, fingerprint)
    out.writeLong(cell.start)
    out.writeLong(cell.end)
    out.writeLong(cell.newest)
    out.writeLong(cell.wake)
    out.writeVarLong(cell.number, true)
    out.writeVarLong(cell.rows, true)
    out.writeVarLong(cell.fresh, true)
    out.writeVarInt(cell.index, true)
    out.writeByte((if (cell.closed) 1 else 0) | (if (cell.passed) 2 else 0) | (if (cell.base.isNaN) 0 else 4))
    if (!cell.base.isNaN) out.writeDouble(cell.base)
    if (!cell.closed) trigger.write(cell.trigger, out)
    if (!cell.closed || carries) bytes(aggregates.write(cell.buffer))
    val told = Option(cell.last).toList ++ cell.pending
    out.writeVarInt(told.size, true)
    out.writeBoolean(cell.last != null)
    told.foreach(emitted)
    out.toBytes
  }

  def read(stored: Array[Byte]): WindowState = {
    val in = new Input(stored)
    WindowStateCodec.check(in, fingerprint)
    val start = in.readLong()
    val end = in.readLong()
    val newest = in.readLong()
    val wake = in.readLong()
    val number = in.readVarLong(true)
    val rows = in.readVarLong(true)
    val fresh = in.readVarLong(true)
    val index = in.readVarInt(true)
    val flags = in.readByte()
    val base = if ((flags & 4) != 0) in.readDouble() else Double.NaN
    val closed = (flags & 1) != 0
    val state = if (closed) trigger.start else trigger.read(in)
    val cell = new WindowState(start, end, number, if (closed && !carries) null else aggregates.read(bytes(in)), state)
    cell.newest = newest
    cell.wake = wake
    cell.rows = rows
    cell.fresh = fresh
    cell.index = index
    cell.base = base
    cell.closed = closed
    cell.passed = (flags & 2) != 0
    val count = in.readVarInt(true)
    val hasLast = in.readBoolean()
    val told = List.fill(count)(emitted(in))
    cell.last = if (hasLast) told.head else null
    cell.pending = if (hasLast) told.tail else told
    cell
  }

  private def emitted(e: Pane): Unit = {
    Seq(e.start, e.end, e.number, e.newest).foreach(out.writeLong)
    out.writeVarInt(e.index, true)
    out.writeByte(e.timing)
    bytes(e.values)
  }

  private def emitted(in: Input): Pane =
    Pane(in.readLong(), in.readLong(), in.readLong(), in.readLong(), in.readVarInt(true), in.readByte(), bytes(in))

  private def bytes(value: Array[Byte]): Unit = {
    out.writeVarInt(value.length, true)
    out.writeBytes(value)
  }

  private def bytes(in: Input): Array[Byte] = in.readBytes(in.readVarInt(true))
}

object WindowStateCodec {
  // Raised with every change of what is written, so that state of another version is refused.
  private val Format = 2

  /** Writes what tells the version and the declaration that bytes are of. */
  def mark(out: Output, fingerprint: Int): Unit = {
    out.writeByte(Format)
    out.writeInt(fingerprint)
  }

  def check(in: Input, fingerprint: Int): Unit = if (in.readByte() != Format || in.readInt() != fingerprint) {
    throw new IllegalStateException(
      "the checkpoint holds windows of another declaration of this step (its aggregates, trigger or window have " +
        "changed); name the step anew or delete its checkpoint")
  }
}
