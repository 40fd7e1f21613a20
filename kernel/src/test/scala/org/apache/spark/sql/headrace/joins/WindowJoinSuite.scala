package org.apache.spark.sql.headrace.joins

import org.apache.spark.sql.headrace.operators.keyed.StepRun

class WindowJoinSuite extends munit.FunSuite {
  import JoinRun.{onLeft, onRight}

  private def join(how: String, size: Int = 10, every: Int = 10, where: String = ""): StepRun =
    JoinRun(s""""how": "$how", "window": {"size": ${size}000000, "every": ${every}000000, "offset": 0}""",
      where, "left.v right.v window __ts")

  test("rows of one window are pairs when it closes") {
    val rows = join("inner")
    assertEquals(rows(onLeft("a", "x", 0), onRight("a", "1", 9.999), onRight("a", "2", 10)), Nil)
    assertEquals(rows.at(9.999)(), Nil)
    assertEquals(rows.at(10)(), Seq("x 1 [0 10] 9.999999"))
    assertEquals(rows.end(), Nil)
    assertEquals((rows.count("processed"), rows.count("unmatched"), rows.keys), (2L, 1L, 0))
  }

  test("the kinds of joins") {
    def results(how: String): Seq[String] = {
      val rows = join(how)
      rows(onLeft("a", "x", 1), onRight("a", "1", 1), onRight("a", "2", 1), onLeft("b", "y", 1),
        onRight("c", "3", 1))
      rows.end().map(_.takeWhile(_ != '[').trim)
    }
    assertEquals(results("inner"), Seq("x 1", "x 2"))
    assertEquals(results("left"), Seq("x 1", "x 2", "y -"))
    assertEquals(results("right"), Seq("x 1", "x 2", "- 3"))
    assertEquals(results("full"), Seq("x 1", "x 2", "y -", "- 3"))
    assertEquals(results("semi"), Seq("x -"))
    assertEquals(results("anti"), Seq("y -"))
  }

  test("sliding windows pair their rows each") {
    val rows = join("left", every = 5)
    rows(onLeft("a", "x", 6), onRight("a", "1", 3))
    assertEquals(rows.at(10)(), Seq("x 1 [0 10] 9.999999"))
    assertEquals(rows.at(15)(), Seq("x - [5 15] 14.999999"))
  }

  test("a row behind the watermark is late, one at the watermark is not") {
    val rows = join("left")
    assertEquals(rows.at(5)(onLeft("a", "x", 4.999), onLeft("a", "y", 5)), Seq("late: too_late"))
    assertEquals(rows.end(), Seq("y - [0 10] 9.999999"))
  }

  test("a null key matches nothing") {
    val inner = join("inner")
    inner(onLeft(null, "x", 1), onRight(null, "1", 1))
    assertEquals((inner.end(), inner.count("unmatched")), (Nil, 2L))
    val full = join("full")
    full(onLeft(null, "x", 1), onRight(null, "1", 1))
    assertEquals(full.end().toSet, Set("x - [0 10] 9.999999", "- 1 [0 10] 9.999999"))
  }

  test("a pair for which the condition is false or null is none") {
    val rows = join("left", where = "left.v <= right.v")
    rows(onLeft("a", "2", 1), onRight("a", "1", 1), onRight("a", null, 1))
    assertEquals(rows.end(), Seq("2 - [0 10] 9.999999"))
  }

  test("rows that carry their windows are paired by them, and late when these have closed") {
    val rows = new StepRun(
      JoinStep(
        StepRun
          .frame("left struct<k: string, v: string>, right struct<k: string, v: string>, __key0 string, " +
            "__key1 timestamp, __key2 timestamp, __ts timestamp"), null,
        """{"how": "full", "window": {"kind": "attached"}, "keys": ["__key0", "__key1", "__key2"]}"""),
      "main" -> "left.v right.v window __ts")
    def ofLeft(v: String, from: Double, until: Double): Product =
      (("a", v), None, "a", from, until, until - 0.5)
    def ofRight(v: String, from: Double, until: Double): Product =
      (None, ("a", v), "a", from, until, until - 0.5)
    assertEquals(rows(ofLeft("x", 0, 5), ofLeft("x", 0, 10), ofRight("1", 0, 10), ofRight("2", 5, 10)), Nil)
    assertEquals(rows.at(5)(), Seq("x - [0 5] 4.999999"))
    assertEquals(rows.at(9.9)(ofRight("3", 0, 10)), Nil)
    assertEquals(
      rows.at(10)().toSet, Set("x 1 [0 10] 9.999999", "x 3 [0 10] 9.999999", "- 2 [5 10] 9.999999"))
    assertEquals(rows.at(10)(ofRight("4", 0, 10)), Seq("late: too_late"))
    assertEquals((rows.end(), rows.keys), (Nil, 0))
  }
}
