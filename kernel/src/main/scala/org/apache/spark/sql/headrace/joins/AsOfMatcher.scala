package org.apache.spark.sql.headrace.joins

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.StepOutput
import org.apache.spark.sql.headrace.operators.{RowBytes, Time}
import org.apache.spark.sql.headrace.operators.inorder.Matcher
import org.apache.spark.sql.headrace.operators.state.BufferedRow

/**
 * State of one key.
 *
 * @param waiting left rows without a decision, in order
 */
final class AsOfMemory(val waiting: mutable.ArrayDeque[BufferedRow]) {
  /** The latest right row, and the last one with an earlier event time; null if there is none. */
  var latest, previous: BufferedRow = _
  def isEmpty: Boolean = waiting.isEmpty && latest == null && previous == null
}

/**
 * Decides on left rows in event-time order. The right rows of a time are complete when time has advanced past
 * it. Then the last of them in arrival order is the partner of left rows that wait for a later one.
 */
final class AsOfMatcher(spec: AsOfSpec, pairs: Pairs) extends Matcher {
  override type Memory = AsOfMemory
  override def empty: AsOfMemory = new AsOfMemory(mutable.ArrayDeque.empty)
  override def isEmpty(memory: AsOfMemory): Boolean = memory.isEmpty

  override def take(
      key: InternalRow, memory: AsOfMemory, row: InternalRow, time: Long, out: StepOutput): Unit = {
    val side = pairs.sideOf(row)
    val entry = new BufferedRow(time, pairs.content(row, side))
    if (key.anyNull) { if (side == Side.Left) decide(entry, null, out) }
    else if (side == Side.Left) memory.waiting += entry
    else {
      if (memory.latest != null && memory.latest.time < time) memory.previous = memory.latest
      memory.latest = entry
    }
  }

  override def advance(key: InternalRow, memory: AsOfMemory, time: Long, out: StepOutput): Unit = {
    while (memory.waiting.nonEmpty && time >= decisionTime(memory, memory.waiting.head)) {
      val row = memory.waiting.removeHead()
      decide(row, partner(memory, row), out)
    }
    dropRight(memory, time)
  }

  override def finish(key: InternalRow, memory: AsOfMemory, out: StepOutput): Unit = {
    memory.waiting.foreach(row => decide(row, partner(memory, row), out))
    memory.waiting.clear()
    memory.latest = null
    memory.previous = null
  }

  override def due(memory: AsOfMemory): Long =
    if (memory.waiting.nonEmpty) math.min(decisionTime(memory, memory.waiting.head), Time.End)
    else if (memory.latest != null && spec.tolerance != Long.MaxValue) expiresAt(memory.latest)
    else Long.MaxValue

  /**
   * Time at which the partner of the first waiting row is known: no right row from then on would be closer.
   * It never decreases from one waiting row to the next.
   */
  private def decisionTime(memory: AsOfMemory, row: BufferedRow): Long = spec.direction match {
    case Direction.Backward => row.time + 1
    case _ if follows(memory, row) => memory.latest.time + 1
    case Direction.Nearest if before(memory, row) != null =>
      // A right row at the same distance after it would not be preferred.
      row.time + (row.time - before(memory, row).time)
    case _ => Time.plus(Time.plus(row.time, spec.tolerance), 1)
  }

  private def partner(memory: AsOfMemory, row: BufferedRow): BufferedRow = spec.direction match {
    case Direction.Backward => before(memory, row)
    case Direction.Forward => after(memory, row)
    case Direction.Nearest => (before(memory, row), after(memory, row)) match {
        case (null, next) => next
        case (last, null) => last
        case (last, next) => if (row.time - last.time <= next.time - row.time) last else next
      }
  }

  /** True if the latest right row is at or after the row. */
  private def follows(memory: AsOfMemory, row: BufferedRow): Boolean = memory.latest != null &&
    memory.latest.time >= row.time

  private def after(memory: AsOfMemory, row: BufferedRow): BufferedRow =
    if (follows(memory, row) && memory.latest.time - row.time <= spec.tolerance) memory.latest else null

  /** The last right row before the row, or at its time if it is backward. */
  private def before(memory: AsOfMemory, row: BufferedRow): BufferedRow = {
    val last = memory.latest
    val right = if (last == null || last.time <= row.time) last else memory.previous
    if (right == null || row.time - right.time > spec.tolerance) null else right
  }

  /** Drops right rows that no left row from `time` on, nor one that waits, can have as a partner. */
  private def dropRight(memory: AsOfMemory, time: Long): Unit = {
    if (memory.waiting.isEmpty) {
      memory.previous = null
      if (memory.latest != null && time >= expiresAt(memory.latest)) memory.latest = null
    }
  }

  private def expiresAt(right: BufferedRow): Long =
    if (spec.direction == Direction.Forward) right.time + 1
    else Time.plus(Time.plus(right.time, spec.tolerance), 1)

  private def decide(left: BufferedRow, right: BufferedRow, out: StepOutput): Unit =
    if (right != null) pairs.emit(left.row, right.row, left.time, out)
    else if (spec.emitsUnmatched) pairs.emit(left.row, null, left.time, out)
    else out.countUnmatched()

  override def write(memory: AsOfMemory, out: Output): Unit = {
    Seq(memory.latest, memory.previous).foreach(writeRow(_, out))
    out.writeVarInt(memory.waiting.size, true)
    memory.waiting.foreach(writeRow(_, out))
  }

  override def read(in: Input): AsOfMemory = {
    val memory = empty
    memory.latest = readRow(in, Side.Right)
    memory.previous = readRow(in, Side.Right)
    (0 until in.readVarInt(true)).foreach(_ => memory.waiting += readRow(in, Side.Left))
    memory
  }

  private def writeRow(entry: BufferedRow, out: Output): Unit = {
    out.writeBoolean(entry != null)
    if (entry != null) {
      out.writeLong(entry.time)
      RowBytes.write(entry.row, out)
    }
  }

  private def readRow(in: Input, side: Int): BufferedRow =
    if (in.readBoolean()) new BufferedRow(in.readLong(), RowBytes.read(in, pairs.width(side))) else null
}
