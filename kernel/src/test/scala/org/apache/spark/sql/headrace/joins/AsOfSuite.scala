package org.apache.spark.sql.headrace.joins

import org.apache.spark.sql.headrace.operators.keyed.StepRun

class AsOfSuite extends munit.FunSuite {
  import JoinRun.{onLeft, onRight}

  private def join(direction: String, tolerance: Int = -1, how: String = "left"): StepRun = {
    val limit = if (tolerance < 0) "" else s""""tolerance": ${tolerance}000000, """
    JoinRun.asOf(s"""$limit"direction": "$direction", "how": "$how"""")
  }

  /** The partner of a left row at 10 among right rows at these times. */
  private def partner(direction: String, tolerance: Int = -1)(rights: Double*): String = {
    val rows = join(direction, tolerance)
    rows(onLeft("a", "x", 10) +: rights.map(t => onRight("a", t.toString, t)): _*)
    rows.end().mkString.split(' ')(1)
  }

  test("backward takes the last right row at or before the left one") {
    assertEquals(partner("backward")(8, 9, 11), "9.0")
    assertEquals(partner("backward")(9, 10, 11), "10.0")
    assertEquals(partner("backward")(10.000001), "-")
  }

  test("forward takes the first right row at or after the left one") {
    assertEquals(partner("forward")(9, 11, 12), "11.0")
    assertEquals(partner("forward")(9, 10, 11), "10.0")
    assertEquals(partner("forward")(9.999999), "-")
  }

  test("nearest takes the closest right row, of two equally close ones the earlier") {
    assertEquals(partner("nearest")(7, 12), "12.0")
    assertEquals(partner("nearest")(8, 12), "8.0")
    assertEquals(partner("nearest")(8, 10, 11), "10.0")
    assertEquals(partner("nearest")(), "-")
  }

  test("a partner at exactly the tolerance counts") {
    assertEquals(partner("backward", 2)(8), "8.0")
    assertEquals(partner("backward", 2)(7.999999), "-")
    assertEquals(partner("forward", 2)(12), "12.0")
    assertEquals(partner("forward", 2)(12.000001), "-")
    assertEquals(partner("nearest", 2)(8, 13), "8.0")
    assertEquals(partner("nearest", 2)(7, 12.000001), "-")
  }

  test("of right rows of equal time the last one to arrive counts") {
    Seq("backward", "forward", "nearest").foreach { direction =>
      val rows = join(direction)
      rows(onRight("a", "1", 10), onLeft("a", "x", 10), onRight("a", "2", 10))
      assertEquals(rows.end(), Seq("x 2 10"), direction)
    }
  }

  test("a left row is emitted when no better partner can arrive") {
    def checkDecision(direction: String, tolerance: Int, at: Double)(rows: Product*): Unit = {
      val run = join(direction, tolerance)
      run(onLeft("a", "x", 10) +: rows: _*)
      assertEquals(run.at(at)(), Nil, direction)
      assertEquals(run.at(at + 0.001)().size, 1, direction)
    }
    checkDecision("backward", -1, 10)()
    checkDecision("forward", 3, 13)()
    checkDecision("forward", -1, 12)(onRight("a", "1", 12))
    checkDecision("nearest", 5, 11.999)(onRight("a", "1", 8)) // one at 12 would be as close, and later
    checkDecision("nearest", 5, 15)()
  }

  test("a left row without a partner is emitted by a left join, and counted by an inner one") {
    val inner = join("backward", how = "inner")
    inner(onLeft("a", "x", 10), onLeft("b", "y", 10), onRight("b", "1", 9))
    assertEquals((inner.end(), inner.count("unmatched")), (Seq("y 1 10"), 1L))
  }

  test("a null key matches nothing") {
    val rows = join("backward")
    rows(onLeft(null, "x", 10), onRight(null, "1", 9))
    assertEquals(rows.end(), Seq("x - 10"))
  }

  test("a row behind the watermark is late") {
    val rows = join("backward")
    assertEquals(rows.at(10)(onLeft("a", "x", 9.999), onRight("a", "1", 10)), Seq("late: too_late"))
  }

  test("right rows leave the state after the tolerance") {
    val rows = join("backward", 2)
    rows(onRight("a", "1", 5))
    rows.at(6)()
    assertEquals(rows.keys, 1)
    rows.at(8)()
    assertEquals(rows.keys, 0)
  }
}
