package org.apache.spark.sql.headrace.windows

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Literal}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Complete, Count => CountFunction}
import org.apache.spark.sql.headrace.operators.{Aggregates, Counts, Event, Now, Time}
import org.apache.spark.sql.headrace.operators.keyed.{StepColumns, TaggedRows}
import org.apache.spark.sql.headrace.operators.state.MemoryStore
import org.apache.spark.sql.types.{LongType, TimestampType}

class SlicedWindowsSuite extends munit.FunSuite {
  private val grid = new SlidingGrid(10, 4, 0)

  test("a grid of overlapping windows has slices of their common divisor") {
    assertEquals(grid.slice, 2L)
    assertEquals(grid.sliceOf(5), 4L)
    assertEquals(grid.last(7), 4L)
    assertEquals(grid.firstEndAfter(10), 14L)
    assert(grid.contains(0, 9) && !grid.contains(0, 10))
  }

  test("windows are enumerated without gaps in which there are no rows") {
    val slices = Array(0L, 40L).map(new Slice(_))
    val ends = mutable.ArrayBuffer.empty[(Int, Long)]
    SlicedWindows.windows(grid, slices, Time.None, 50)((from, end) => ends += ((from, end)))
    assertEquals(ends.toSeq, Seq((0, 2L), (0, 6L), (0, 10L), (1, 42L), (1, 46L), (1, 50L)))
  }

  test("growing windows have slices of one step, and a group ends with its longest window") {
    val grown = new CumulatingGrid(15, 5, 1)
    assertEquals((grown.sliceOf(7), grown.firstEndAfter(6), grown.lastEnd(7)), (6L, 11L, 16L))
    assertEquals((grown.startOf(16), grown.startOf(17), grown.start(6)), (1L, 16L, 1L))
    assert(grown.contains(11, 10) && !grown.contains(11, 11))
    val slices = Array(1L, 11L, 31L).map(new Slice(_))
    val ends = mutable.ArrayBuffer.empty[(Int, Long)]
    SlicedWindows.windows(grown, slices, 6, 100)((from, end) => ends += ((from, end)))
    assertEquals(ends.toSeq, Seq((0, 11L), (0, 16L), (2, 36L), (2, 41L), (2, 46L)))
  }

  test("growing windows share slices, count what is open, and send late rows to `late`") {
    val window = """{"kind": "cumulating", "size": 15000000, "step": 5000000}"""
    val rows = WindowRun(window, aggregates = WindowRun.Count, main = "k window n pane.timing")
    rows(("a", "1", 1.0), ("a", "2", 6.0), ("a", "3", 12.0))
    assertEquals(rows.at(10)(), Seq("a [0 5] 1 on_time", "a [0 10] 2 on_time"))
    assertEquals(rows.at(10)(("a", "4", 2.0)), Nil)
    assertEquals(rows.at(15)(), Seq("a [0 15] 4 on_time"))
    assertEquals(rows.at(15)(("a", "5", 14.0)), Seq("late: 5 [0 15] too_late"))
    assertEquals(
      (rows.count("assigned"), rows.count("emitted"), rows.count("missed"), rows.count("open_windows")),
      (7L, 7L, 2L, 0L))
    assertEquals((rows.end(), rows.keys), (Nil, 0))
  }

  test("a row counts in each of its windows, and late rows are emitted") {
    val input = Seq("v" -> LongType, "__ts" -> TimestampType).map { case (name, kind) =>
      AttributeReference(name, kind)()
    }
    val count = AggregateExpression(CountFunction(Literal(1)), Complete, isDistinct = false)
    val spec = WindowingSpec
      .parse("""{"window": {"kind": "sliding", "size": 10, "every": 4}, "mode": "accumulating",
        |"trigger": {"after_watermark": {}}}""".stripMargin)
    val (layout, counts) = (new WindowLayout(input, Nil, Seq("n"), Seq(LongType), spec.kind), Counts.local())
    val panes = new Panes(spec, Aggregates.of(Seq(count), input, Nil), counts, layout)
    val logic = new SlicedWindows(panes, WindowGrid.sliding(Sliding(10, 4, 0)))
    val columns = new StepColumns(input, Nil, Nil, Seq("main" -> layout.main), window = layout.window)
    val (store, out) = (new MemoryStore, new TaggedRows(columns, counts))
    def rows(times: Seq[Long], watermark: Long): Unit = logic.onRows(InternalRow.empty, store,
      times.iterator.map(t => Event(InternalRow(t, t), Some(t))), Now(watermark, 0), out)
    rows(Seq(5, 6), Time.None)
    logic.onTimer(InternalRow.empty, store, 1, Now(10, 0), out)
    rows(Seq(1, 9), 10)
    logic.onTimer(InternalRow.empty, store, 1, Now(Time.End, 0), out)
    val (main, late) = out.take().toSeq.partition(!_.isNullAt(1))
    val results = main.map(_.getStruct(1, 4)).map { row =>
      (row.getStruct(0, 2).getLong(0), row.getStruct(0, 2).getLong(1), row.getLong(1))
    }
    assertEquals(results.filter(_._2 > 6), Seq((0L, 10L, 2L), (4L, 14L, 3L), (8L, 18L, 1L)))
    assertEquals(late.map(_.getStruct(2, 5).getUTF8String(4).toString), Seq("too_late"))
    assertEquals(store.size, 0)
  }

  test("a row is late when the watermark has reached the end of its last window") {
    val sliding = """{"kind": "sliding", "size": 10000000, "every": 4000000}"""
    val windows = WindowRun(sliding, aggregates = WindowRun.Count, main = "k window n pane.timing")
    assertEquals(windows.at(13.999)(("a", "x", 5)), Nil)
    assertEquals(windows.at(14)(("a", "y", 5)), Seq("a [4 14] 1 on_time", "late: y [4 14] too_late"))
    assertEquals((windows.count("assigned"), windows.count("missed"), windows.keys), (1L, 2L, 0))
  }
}
