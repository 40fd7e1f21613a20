package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.Time

/**
 * Windows whose bounds depend on time alone. A window is known by a number: its start, or for windows that
 * share their starts, its end.
 */
trait WindowGrid {
  /** Number of the last window that contains a time. */
  def last(time: Long): Long

  /** Number of the window before the one with this number. */
  def previous(window: Long): Long

  /** True if a window, from `last` on backwards, contains a time. */
  def contains(window: Long, time: Long): Boolean
  def start(window: Long): Long
  def end(window: Long): Long

  /** Number of the window with these bounds. */
  def numberOf(start: Long, end: Long): Long

  /** Windows whose end, plus `ago`, falls in the millisecond up to `millis`. */
  def endingAt(millis: Long, ago: Long): Iterator[Long]
}

/** Windows that consist of slices of one length; their ends are `every` apart. */
trait SliceGrid extends WindowGrid {
  /** Length of the slices that every window consists of. */
  def slice: Long
  def every: Long
  def sliceOf(time: Long): Long

  /** End of the first window that ends after a time. */
  def firstEndAfter(time: Long): Long

  /** Start of the window that ends at a time. */
  def startOf(end: Long): Long

  /** End of the last window that contains a time. */
  def lastEnd(time: Long): Long = end(last(time))
}

/** Sliding, tumbling and global windows. */
final class SlidingGrid(val size: Long, val every: Long, offset: Long) extends SliceGrid {
  override val slice: Long = if (size == Long.MaxValue) size else WindowGrid.gcd(size, every)

  override def sliceOf(time: Long): Long =
    if (size == Long.MaxValue) 0L else time - Math.floorMod(time - offset, slice)

  override def firstEndAfter(time: Long): Long = last(time - size) + every + size
  override def startOf(end: Long): Long = end - size
  override def start(window: Long): Long = window
  override def end(window: Long): Long = if (size == Long.MaxValue) Time.End else Time.plus(window, size)
  override def numberOf(start: Long, end: Long): Long = start

  override def last(time: Long): Long =
    if (size == Long.MaxValue) 0L else time - Math.floorMod(time - offset, every)
  override def previous(window: Long): Long = window - every
  override def contains(window: Long, time: Long): Boolean =
    if (size == Long.MaxValue) window == 0L else window > time - size

  override def endingAt(millis: Long, ago: Long): Iterator[Long] =
    if (size == Long.MaxValue) Iterator.single(0L)
    else {
      val until = Time.micros(millis) - ago - size
      Iterator.iterate(last(until))(_ - every).takeWhile(_ > until - 1000)
    }
}

/** Windows that start every `size` and grow by `step` up to that size. Their number is their end. */
final class CumulatingGrid(size: Long, step: Long, offset: Long) extends SliceGrid {
  override def slice: Long = step
  override def every: Long = step
  override def sliceOf(time: Long): Long = floor(time, step)
  override def firstEndAfter(time: Long): Long = floor(time, step) + step
  override def startOf(end: Long): Long = floor(end - 1, size)
  override def start(window: Long): Long = startOf(window)
  override def end(window: Long): Long = window
  override def numberOf(start: Long, end: Long): Long = end
  override def last(time: Long): Long = floor(time, size) + size
  override def previous(window: Long): Long = window - step
  override def contains(window: Long, time: Long): Boolean = window > time

  override def endingAt(millis: Long, ago: Long): Iterator[Long] = {
    val until = Time.micros(millis) - ago
    Iterator.iterate(floor(until, step))(_ - step).takeWhile(_ > until - 1000)
  }

  private def floor(time: Long, length: Long): Long = time - Math.floorMod(time - offset, length)
}

/** One window, whose bounds are columns of its rows. */
final class SingleWindow(from: Long, until: Long) extends WindowGrid {
  override def last(time: Long): Long = from
  override def previous(window: Long): Long = from - 1
  override def contains(window: Long, time: Long): Boolean = window == from
  override def start(window: Long): Long = from
  override def end(window: Long): Long = until
  override def numberOf(start: Long, end: Long): Long = from
  override def endingAt(millis: Long, ago: Long): Iterator[Long] = Iterator.single(from)
}

object WindowGrid {
  def sliding(s: Sliding): SlidingGrid = new SlidingGrid(s.size, s.every, s.offset)
  val Whole: SlidingGrid = new SlidingGrid(Long.MaxValue, Long.MaxValue, 0)

  /** The grid of windows whose bounds are the same for all keys. */
  def of(kind: WindowKind): Option[SliceGrid] = kind match {
    case s: Sliding => Some(sliding(s))
    case Cumulating(size, step, offset) => Some(new CumulatingGrid(size, step, offset))
    case GlobalWindow => Some(Whole)
    case _ => None
  }

  /** The window that a key determines: its last two columns are the bounds; None if one is null. */
  def ofKey(key: InternalRow): Option[SingleWindow] = {
    val at = key.numFields - 2
    if (key.isNullAt(at) || key.isNullAt(at + 1)) None
    else Some(new SingleWindow(key.getLong(at), key.getLong(at + 1)))
  }

  @scala.annotation.tailrec
  def gcd(a: Long, b: Long): Long = if (b == 0) a else gcd(b, a % b)
}
