package org.apache.spark.sql.headrace.windows

class TrailingWindowsSuite extends munit.FunSuite {
  private val trailing = """{"kind": "trailing", "size": 10000000}"""
  private def run(lateness: Int = 0, mode: String = "accumulating", columns: String = "") =
    WindowRun(trailing, mode, lateness, columns = s"k string, v string, __ts timestamp$columns",
      main = "v window vs pane.timing pane.retraction")

  test("each row has the rows of the size before it; a row exactly that old is outside") {
    val windows = run()
    windows(("a", "1", 0), ("a", "2", 0.000001), ("a", "3", 10))
    assertEquals(windows.end(),
      Seq(
        "1 [-10 0] 1 on_time false", "2 [-9.999999 0.000001] 12 on_time false", "3 [0 10] 23 on_time false"))
  }

  test("rows of equal time are in each other's result") {
    val windows = run()
    windows(("a", "1", 5), ("a", "2", 5))
    assertEquals(windows.end(), Seq("1 [-5 5] 12 on_time false", "2 [-5 5] 12 on_time false"))
  }

  test("a row is emitted when the watermark has passed it, and too late when it is behind") {
    val windows = run()
    assertEquals(windows(("a", "1", 5)), Nil)
    assertEquals(windows.at(5)(("a", "2", 5), ("a", "3", 4.999)), Seq("late: 3 [-5.001 4.999] too_late"))
    assertEquals(windows.at(5.001)().size, 2)
  }

  test("with lateness a late row emits the results of the following rows again") {
    val windows = run(lateness = 5)
    windows(("a", "1", 3), ("a", "2", 12))
    assertEquals(windows.at(8)(), Seq("1 [-7 3] 1 on_time false"))
    assertEquals(windows.at(8)(("a", "x", 3)), Seq("1 [-7 3] 1x on_time false", "x [-7 3] 1x on_time false"))
    assertEquals(windows.at(8)(("a", "y", 2.999)), Seq("late: y [-7.001 2.999] too_late"))
    windows.at(13)()
    assertEquals(windows(("a", "z", 12)), Seq("2 [2 12] 1x2z on_time false", "z [2 12] 1x2z on_time false"))
  }

  test("in retracting mode the earlier result is retracted before the next one") {
    val windows = run(lateness = 5, mode = "retracting")
    windows(("a", "1", 3))
    windows.at(4)()
    assertEquals(windows(("a", "x", 2)),
      Seq("x [-8 2] x on_time false", "1 [-7 3] 1 on_time true", "1 [-7 3] x1 on_time false"))
  }

  test("a removal takes its row out of the results that follow") {
    val windows = run(columns = ", __change string")
    windows(("a", "1", 3, "insert"), ("a", "2", 5, "insert"))
    windows(("a", "1", 3, "delete"))
    assertEquals(windows.end(), Seq("2 [-5 5] 2 on_time false"))
  }

  test("rows leave the state when no later result needs them") {
    val windows = run()
    windows(("a", "1", 3))
    windows.at(12.999)()
    assertEquals(windows.keys, 1)
    windows.at(13.001)()
    assertEquals((windows.keys, windows.count("emitted")), (0, 1L))
  }
}
