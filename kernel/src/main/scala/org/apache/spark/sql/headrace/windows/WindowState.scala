package org.apache.spark.sql.headrace.windows

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.state.TimedState
import org.apache.spark.sql.headrace.operators.{Aggregates, RowBytes}

/** Position of a pane relative to the passing of its window's end. */
object PaneTiming {
  val Early: Byte = 0
  val OnTime: Byte = 1
  val Late: Byte = 2
  val Names: Seq[String] = Seq("early", "on_time", "late")
}

/** An emitted pane, stored for its retraction. */
final case class Pane(start: Long, end: Long, number: Long, newest: Long, index: Int, timing: Byte,
    values: Array[Byte])

/** One open window of one key; mutable, valid for one call. */
final class WindowState(var start: Long, var end: Long, var number: Long, var buffer: InternalRow,
    var trigger: TriggerState)
    extends TimedState {
  /** Number of rows, and of those that no pane has emitted. */
  var rows: Long = 0
  var unfired: Long = 0

  /** Rows of this call not yet passed to the trigger. */
  var added: Long = 0

  var index: Int = 0
  var newest: Long = Long.MinValue

  /** True if the trigger has finished. */
  var closed: Boolean = false

  /** True if the watermark has reached the end. */
  var passed: Boolean = false

  /** Last emitted pane, and panes that a merge left to retract. */
  var last: Pane = _
  var pending: List[Pane] = Nil

  /** Reference value of delta windows. */
  var base: Double = Double.NaN
}

/** Encodes windows. A header identifies the version and the declaration. */
final class WindowStateCodec(trigger: Trigger, aggregates: Aggregates, fingerprint: Int,
    keepsContent: Boolean) {
  private val out = new Output(256, -1)

  def write(window: WindowState): Array[Byte] = {
    out.clear()
    WindowStateCodec.writeHeader(out, fingerprint)
    out.writeLong(window.start)
    out.writeLong(window.end)
    out.writeLong(window.newest)
    out.writeLong(window.timerAt)
    out.writeVarLong(window.number, true)
    out.writeVarLong(window.rows, true)
    out.writeVarLong(window.unfired, true)
    out.writeVarInt(window.index, true)
    out.writeByte(
      (if (window.closed) 1 else 0) | (if (window.passed) 2 else 0) | (if (window.base.isNaN) 0 else 4))
    if (!window.base.isNaN) out.writeDouble(window.base)
    if (!window.closed) trigger.write(window.trigger, out)
    if (!window.closed || keepsContent) RowBytes.write(aggregates.write(window.buffer), out)
    val emittedPanes = Option(window.last).toList ++ window.pending
    out.writeVarInt(emittedPanes.size, true)
    out.writeBoolean(window.last != null)
    emittedPanes.foreach(pane)
    out.toBytes
  }

  def read(stored: Array[Byte]): WindowState = {
    val in = new Input(stored)
    WindowStateCodec.checkHeader(in, fingerprint)
    val window = new WindowState(in.readLong(), in.readLong(), 0, null, null)
    window.newest = in.readLong()
    window.timerAt = in.readLong()
    window.number = in.readVarLong(true)
    window.rows = in.readVarLong(true)
    window.unfired = in.readVarLong(true)
    window.index = in.readVarInt(true)
    val flags = in.readByte()
    window.closed = (flags & 1) != 0
    window.passed = (flags & 2) != 0
    if ((flags & 4) != 0) window.base = in.readDouble()
    window.trigger = if (window.closed) trigger.start else trigger.read(in)
    if (!window.closed || keepsContent) window.buffer = aggregates.read(RowBytes.read(in))
    val count = in.readVarInt(true)
    val hasLast = in.readBoolean()
    val emittedPanes = List.fill(count)(pane(in))
    window.last = if (hasLast) emittedPanes.head else null
    window.pending = if (hasLast) emittedPanes.tail else emittedPanes
    window
  }

  private def pane(e: Pane): Unit = {
    Seq(e.start, e.end, e.number, e.newest).foreach(out.writeLong)
    out.writeVarInt(e.index, true)
    out.writeByte(e.timing)
    RowBytes.write(e.values, out)
  }

  private def pane(in: Input): Pane = Pane(in.readLong(), in.readLong(), in.readLong(), in.readLong(),
    in.readVarInt(true), in.readByte(), RowBytes.read(in))
}

object WindowStateCodec {
  // Bumped with every change of the format; state of another version is refused.
  private val Format = 2

  def writeHeader(out: Output, fingerprint: Int): Unit = {
    out.writeByte(Format)
    out.writeInt(fingerprint)
  }

  def checkHeader(
      in: Input, fingerprint: Int): Unit = if (in.readByte() != Format || in.readInt() != fingerprint) {
    throw new IllegalStateException(
      "the checkpoint holds windows of another declaration of this step (its aggregates, trigger or window " +
        "have changed); name the step anew or delete its checkpoint")
  }
}
