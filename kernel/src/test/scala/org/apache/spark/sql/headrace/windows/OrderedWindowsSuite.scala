package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.headrace.operators.keyed.StepRun

/** Windows over the rows of a key in order: count, delta, punctuation and landmark windows. */
class OrderedWindowsSuite extends munit.FunSuite {
  private val shown = "window vs pane.timing"

  private def count(size: Int, every: Int, more: String = ""): String =
    s"""{"kind": "count", "size": $size, "every": $every$more}"""
  private def run(window: String, more: String = ""): StepRun = WindowRun(window, main = shown, more = more)

  /** Rows with the condition `__when`. */
  private def conditional(kind: String): StepRun = WindowRun(
    s"""{"kind": "$kind"}""", columns = "k string, v string, __when boolean, __ts timestamp", main = shown)

  test("a row is released when the watermark has passed it, and late when it is behind") {
    val windows = run(count(2, 2))
    assertEquals(windows(("a", "y", 5), ("a", "x", 4)), Nil)
    assertEquals(windows.at(5)(("a", "z", 5), ("a", "w", 4.999)), Seq("late: w - too_late"))
    assertEquals(windows.count("buffered"), 2L)
    assertEquals(windows.at(5.001)(), Seq("[4 5 0] xy on_time"))
    assertEquals(windows.end(), Seq("[5 5 1] z on_time"))
  }

  test("rows of equal time keep their arrival order") {
    val windows = run(count(3, 3))
    windows(("a", "1", 2), ("a", "2", 1))
    windows(("a", "3", 2))
    assertEquals(windows.end(), Seq("[1 2 0] 213 on_time"))
  }

  test("count windows overlap, have gaps, and close with their last row") {
    val overlapping = run(count(3, 2))
    overlapping((1 to 5).map(i => ("a", i.toString, i)): _*)
    assertEquals(overlapping.end(), Seq("[1 3 0] 123 on_time", "[3 5 1] 345 on_time", "[5 5 2] 5 on_time"))
    val sampled = run(count(1, 3))
    sampled((1 to 5).map(i => ("a", i.toString, i)): _*)
    assertEquals(sampled.end(), Seq("[1 1 0] 1 on_time", "[4 4 1] 4 on_time"))
  }

  test("in arrival order rows are processed at once, however old they are") {
    val windows = run(count(2, 2, """, "order": "arrival""""))
    assertEquals(windows.at(9)(("a", "x", 5), ("a", "y", 4), ("a", "z", 1)), Seq("[4 5 0] xy on_time"))
    assertEquals(windows(("a", "w", None)), Seq("late: w - no_event_time"))
  }

  test("an early trigger counts released rows") {
    val trigger = """{"after_watermark": {"early": {"after_count": 2}}}"""
    val windows = WindowRun(count(5, 5), trigger = trigger, main = shown)
    assertEquals(windows(("a", "x", 1), ("a", "y", 2)), Nil)
    assertEquals(windows.at(2)(), Nil)
    assertEquals(windows.at(2.001)(), Seq("[1 2 0] xy early"))
  }

  test("a value that differs by more than the limit from the first opens a delta window; null never does") {
    val windows = WindowRun("""{"kind": "delta", "by": 5}""",
      columns = "k string, v string, __of double, __ts timestamp", main = shown)
    windows(("a", "1", 10.0, 1), ("a", "2", 15.0, 2), ("a", "3", 5.0, 3), ("a", "4", None, 4),
      ("a", "5", 15.001, 5))
    assertEquals(windows.end(), Seq("[1 4 0] 1234 on_time", "[5 5 1] 5 on_time"))
  }

  test("a delta window whose first values are null takes its base from the first other one") {
    val windows = WindowRun("""{"kind": "delta", "by": 5}""",
      columns = "k string, v string, __of double, __ts timestamp", main = shown)
    windows(("a", "1", None, 1), ("a", "2", 100.0, 2), ("a", "3", 94.0, 3))
    assertEquals(windows.end(), Seq("[1 2 0] 12 on_time", "[3 3 1] 3 on_time"))
  }

  test("the row that satisfies the condition closes a punctuation window and belongs to it") {
    val windows = conditional("punctuation")
    windows(("a", "1", false, 1), ("a", "2", true, 2), ("a", "3", None, 3))
    assertEquals(windows.end(), Seq("[1 2 0] 12 on_time", "[3 3 1] 3 on_time"))
  }

  test("the row that satisfies the condition opens a landmark window; rows before the first are window 0") {
    val before = conditional("landmark")
    before(("a", "1", false, 1), ("a", "2", true, 2), ("a", "3", None, 3), ("a", "4", true, 4))
    assertEquals(before.end(), Seq("[1 1 0] 1 on_time", "[2 3 1] 23 on_time", "[4 4 2] 4 on_time"))
    val at = conditional("landmark")
    at(("a", "1", true, 1))
    assertEquals(at.end(), Seq("[1 1 1] 1 on_time"))
  }

  test("a landmark with a reset fires at every step once it has rows, and starts anew at the reset") {
    val windows = run("""{"kind": "landmark", "reset": 60000000, "step": 20000000}""")
    windows(("a", "1", 25), ("a", "2", 60))
    assertEquals(windows.at(39.999)(), Nil)
    assertEquals(windows.at(40)(), Seq("[0 40 0] 1 on_time"))
    assertEquals(windows.at(60)(), Seq("[0 60 1] 1 on_time"))
    assertEquals(windows.at(80)(), Seq("[60 80 2] 2 on_time"))
  }

  test("a removal takes the row out of the buffer") {
    val windows =
      WindowRun(count(2, 2), columns = "k string, v string, __ts timestamp, __change string", main = shown)
    windows(("a", "x", 1, "insert"), ("a", "y", 2, "insert"))
    windows(("a", "x", 1, "delete"), ("a", "?", 1, "delete"))
    assertEquals(windows.end(), Seq("late: ? - too_late", "[2 2 0] y on_time"))
  }
}
