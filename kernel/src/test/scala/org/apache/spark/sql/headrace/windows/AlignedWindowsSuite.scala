package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.functions.expr

/** Tumbling, sliding and global windows, and the triggers that fire them. */
class AlignedWindowsSuite extends munit.FunSuite {
  private val tumbling = """{"kind": "tumbling", "size": 10000000}"""
  private val sliding = """{"kind": "sliding", "size": 10000000, "every": 5000000}"""
  private val global = """{"kind": "global"}"""

  test("a window has the rows from its start up to its end, which is in the next one") {
    val windows = WindowRun(tumbling)
    windows(("a", "x", 0), ("a", "y", 9.999999), ("a", "z", 10))
    assertEquals(windows.end(), Seq("a [0 10] xy 0 on_time", "a [10 20] z 0 on_time"))
  }

  test("an offset moves the bounds") {
    val windows = WindowRun("""{"kind": "tumbling", "size": 10000000, "offset": 3000000}""")
    windows(("a", "x", 2.9), ("a", "y", 3))
    assertEquals(windows.end(), Seq("a [-7 3] x 0 on_time", "a [3 13] y 0 on_time"))
  }

  test("a window fires when the watermark reaches its end, and takes rows until the lateness is over") {
    val windows = WindowRun(tumbling, lateness = 5)
    windows(("a", "x", 0))
    assertEquals(windows.at(9.999)(), Nil)
    assertEquals(windows.at(10)(), Seq("a [0 10] x 0 on_time"))
    assertEquals(windows.at(14.999)(("a", "y", 9)), Seq("a [0 10] xy 1 late"))
    assertEquals(windows.at(15)(("a", "z", 9)), Seq("late: z [0 10] too_late"))
    assertEquals(windows.keys, 0)
  }

  test("the first pane of a window that only late rows reach is late") {
    val windows = WindowRun(tumbling, lateness = 5)
    assertEquals(windows.at(12)(("a", "x", 9)), Seq("a [0 10] x 0 late"))
  }

  test("the watermark is applied before the rows of a micro-batch") {
    val windows = WindowRun(tumbling, lateness = 5)
    windows(("a", "x", 0))
    assertEquals(windows.at(10)(("a", "y", 1)), Seq("a [0 10] x 0 on_time", "a [0 10] xy 1 late"))
  }

  test("rows without an event time, before 1970 and with a null key") {
    val windows = WindowRun(tumbling)
    assertEquals(windows(("a", "x", None), ("a", "y", -1), (None, "z", 1)),
      Seq("late: x - no_event_time", "late: y [-10 0] too_late"))
    assertEquals(windows.end(), Seq("- [0 10] z 0 on_time"))
  }

  test("a row that is too late for one of its windows is added to the other, and the window is counted") {
    val windows = WindowRun(sliding, lateness = 1)
    windows.at(11)(("a", "x", 9))
    assertEquals(
      (windows.count("processed"), windows.count("assigned"), windows.count("missed")), (1L, 1L, 1L))
    assertEquals(windows(("a", "y", 4)), Seq("late: y [0 10] too_late"))
    assertEquals(windows.end(), Seq("a [5 15] x 0 on_time"))
  }

  test("accumulating, discarding and retracting panes") {
    val early = """{"after_watermark": {"early": {"after_count": 2}, "late": {"after_count": 1}}}"""
    def panes(mode: String): Seq[String] = {
      val windows =
        WindowRun(tumbling, mode, lateness = 9, trigger = early, main = "vs pane.timing pane.retraction")
      Seq(windows(("a", "1", 0), ("a", "2", 1)), windows(("a", "3", 1)), windows.at(10)(),
        windows(("a", "4", 2))).flatten
    }
    assertEquals(panes("accumulating"), Seq("12 early false", "123 on_time false", "1234 late false"))
    assertEquals(panes("discarding"), Seq("12 early false", "3 on_time false", "4 late false"))
    assertEquals(panes("retracting"),
      Seq("12 early false", "12 early true", "123 on_time false", "123 on_time true", "1234 late false"))
  }

  test("the on-time pane of a discarding window fires without new rows") {
    val early = """{"after_watermark": {"early": {"after_count": 1}}}"""
    val windows = WindowRun(tumbling, "discarding", trigger = early, aggregates = WindowRun.Count, main = "n")
    assertEquals(windows(("a", "x", 0)), Seq("1"))
    assertEquals(windows.at(10)(), Seq("0"))
  }

  test("every fires a period after the first row of the pane, once for several periods") {
    val windows = WindowRun(tumbling, trigger = """{"after_watermark": {"early": {"every": 5000000}}}""")
    assertEquals(windows.clock(1)(("a", "x", 0)), Nil)
    assertEquals(windows.clock(5.999)(), Nil)
    assertEquals(windows.clock(6)(), Seq("a [0 10] x 0 early"))
    assertEquals(windows.clock(40)(), Nil)
    assertEquals(windows.clock(41)(("a", "y", 0)), Nil)
    assertEquals(windows.clock(99)(), Seq("a [0 10] xy 1 early"))
  }

  test("with a finished trigger further rows are late, rows never emitted are dropped") {
    val once = WindowRun(tumbling, trigger = """{"after_count": 1}""")
    assertEquals(once(("a", "x", 0)), Seq("a [0 10] x 0 early"))
    assertEquals(once(("a", "y", 0)), Seq("late: y [0 10] closed"))
    val never = WindowRun(tumbling, trigger = """{"after_count": 5}""")
    never(("a", "x", 0))
    assertEquals(never.end(), Nil)
    assertEquals((never.count("dropped"), never.count("emitted"), never.count("open_windows")), (1L, 0L, 0L))
  }

  test("the global window takes all rows and fires at the end") {
    val windows = WindowRun(global, main = "k window.start vs pane.timing __ts")
    windows.at(100)(("a", "x", 1), ("a", "y", 7))
    assertEquals(windows(("a", "z", 5)), Nil)
    assertEquals(windows.end(), Seq("a - xyz on_time 7"))
  }

  test("panes of aligned windows have the last microsecond of the window as event time") {
    val windows = WindowRun(tumbling, main = "__ts")
    windows(("a", "x", 3))
    assertEquals(windows.end(), Seq("9.999999"))
  }

  test("rows that a changelog removes are taken out of every aggregate") {
    val values = Seq("count(*) n", "sum(i) total", "max(i) best", "count(distinct i) kinds")
    val windows = WindowRun(
      tumbling, columns = "k string, i int, __ts timestamp, __change string",
      aggregates = values.map(text => expr(text.split(' ').init.mkString(" ")).as(text.split(' ').last)),
      main = "k n total best kinds")
    windows(("a", 1, 0, "insert"), ("a", 5, 0, "insert"), ("a", 5, 1, "insert"))
    windows(("a", 5, 0, "update_before"), ("a", 2, 0, "update_after"))
    windows(("a", 5, 1, "delete"), ("b", 7, 1, "insert"))
    windows(("b", 7, 1, "delete"))
    assertEquals(windows.end(), Seq("a 2 3 2 2", "b 0 - - 0"))
  }
}
