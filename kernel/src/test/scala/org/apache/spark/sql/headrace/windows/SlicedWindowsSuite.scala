package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Complete, Count => CountFunction}
import org.apache.spark.sql.headrace.operators.{Aggregates, Counts, Event, Now, Time}
import org.apache.spark.sql.headrace.operators.state.MemoryStore
import org.apache.spark.sql.types.LongType

class SlicedWindowsSuite extends munit.FunSuite {
  private val grid = new WindowGrid(10, 4, 0)

  test("a grid of overlapping windows has slices of their common divisor") {
    assertEquals(grid.slice, 2L)
    assertEquals(grid.sliceOf(5), 4L)
    assertEquals(grid.lastStart(7), 4L)
    assertEquals(grid.firstEndAfter(10), 14L)
    assert(grid.contains(0, 9) && !grid.contains(0, 10))
  }

  test("windows are enumerated without gaps in which there are no rows") {
    val slices = Array(0L, 40L).map(new Slice(_))
    val ends = mutable.ArrayBuffer.empty[(Int, Long)]
    SlicedWindows.windows(grid, slices, Time.None, 50)((from, end) => ends += ((from, end)))
    assertEquals(ends.toSeq, Seq((0, 2L), (0, 6L), (0, 10L), (1, 42L), (1, 46L), (1, 50L)))
  }

  private final class Panes0 extends WindowEmitter {
    val panes = mutable.ArrayBuffer.empty[(Long, Long, Long)]
    val late = mutable.ArrayBuffer.empty[String]
    override def pane(key: InternalRow, pane: Pane, retraction: Boolean): Unit = {
      val values = new org.apache.spark.sql.catalyst.expressions.UnsafeRow(1)
      values.pointTo(pane.values, pane.values.length)
      panes += ((pane.start, pane.end, values.getLong(0)))
    }
    override def late(event: Event, window: Option[(Long, Long)], now: Now, reason: String): Unit = late +=
      reason
    override def trailing(key: InternalRow, row: InternalRow, pane: Pane, retraction: Boolean): Unit = ()
  }

  test("a row counts in each of its windows, and late rows are emitted") {
    val input = Seq(AttributeReference("v", LongType)())
    val count = AggregateExpression(CountFunction(Literal(1)), Complete, isDistinct = false)
    val spec = WindowingSpec
      .parse("""{"window": {"kind": "sliding", "size": 10, "every": 4}, "mode": "accumulating",
        |"trigger": {"after_watermark": {}}}""".stripMargin)
    val panes = new Panes(spec, Aggregates.of(Seq(count), input, Nil), Counts.local())
    val logic = new SlicedWindows(panes, WindowGrid.sliding(Sliding(10, 4, 0)))
    val (store, out) = (new MemoryStore, new Panes0)
    def rows(times: Seq[Long], watermark: Long): Unit = logic.onRows(InternalRow.empty, store,
      times.iterator.map(t => Event(InternalRow(t), Some(t))), Now(watermark, 0), out)
    rows(Seq(5, 6), Time.None)
    logic.onTimer(InternalRow.empty, store, 1, Now(10, 0), out)
    rows(Seq(1, 9), 10)
    logic.onTimer(InternalRow.empty, store, 1, Now(Time.End, 0), out)
    assertEquals(out.panes.toSeq.filter(_._2 > 6), Seq((0L, 10L, 2L), (4L, 14L, 3L), (8L, 18L, 1L)))
    assertEquals(out.late.toSeq, Seq("too_late"))
    assertEquals(store.size, 0)
  }
}
