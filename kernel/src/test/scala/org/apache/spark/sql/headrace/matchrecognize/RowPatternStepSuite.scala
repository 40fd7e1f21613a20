package org.apache.spark.sql.headrace.matchrecognize

import org.apache.spark.sql.functions.{expr, lit}
import org.apache.spark.sql.headrace.operators.keyed.StepRun

/**
 * MATCH_RECOGNIZE over rows `(k, v, ts)`; A takes rows with `v = 1`, B rows with a higher `v` than the row
 * before.
 */
class RowPatternStepSuite extends munit.FunSuite {
  private val a = """{"variable": "A"}"""
  private def plus(variable: String) =
    s"""{"repeat": {"variable": "$variable"}, "least": 1, "most": null, "greedy": true}"""
  private val rising = s"""{"sequence": [$a, ${plus("B")}]}"""

  private def value(index: Int, labels: String, last: Boolean, shift: Int = 0): String =
    s"""{"kind": "row", "index": $index, "labels": [$labels], "last": $last, "skip": 0,
      |"final": false, "shift": $shift}""".stripMargin

  private def run(pattern: String = rising, rows: String = "one", skip: String = "past_last",
      within: String = "null", skipTo: String = "", ties: String = ""): StepRun = {
    val frame = StepRun.frame("k string, v int, __ts timestamp")
    val extended = frame.withColumn("__classifier", lit(null).cast("string"))
      .withColumn("__match_number", lit(null).cast("bigint"))
    val columns = Seq("int", "int", "int", "bigint", "int", "int").zipWithIndex.map { case (kind, i) =>
      lit(null).cast(kind).as(s"__v$i")
    }
    val formulas = Seq("__v0 = 1", "__v1 > __v2", "__v4", "__v5", "__v3").map(expr)
    val values = Seq(
      value(0, "\"A\"", last = true), value(0, "\"B\"", last = true), value(0, "", last = true, shift = -1),
      """{"kind": "number"}""", value(0, "\"A\"", last = false), value(0, "\"B\"", last = true))
    val declared = s"""{"variables": ["A", "B"], "pattern": $pattern, "conditions": {"A": 0, "B": 1},
      |"measures": [{"name": "from", "formula": 2}, {"name": "to", "formula": 3},
      |{"name": "number", "formula": 4}],
      |"values": ${values.mkString("[", ",", "]")}, "rows": "$rows", "skip": "$skip", "skip_to": [$skipTo],
      |"within": $within, "keys": ["k"], "order": [], "ties": [$ties], "time": "event"}""".stripMargin
    val step = RowPatternStep(
      frame, extended, extended.select("v"), null, frame.select(columns: _*).select(formulas: _*), declared)
    new StepRun(step, "main" -> s"k from to number${if (rows == "one") "" else " v"}")
  }

  private def matches(run: StepRun, values: Int*): Seq[String] = {
    run(values.zipWithIndex.map { case (v, i) => ("k", v, i) }: _*)
    run.end()
  }

  test("a match has the measures of its rows, and its number in the partition") {
    assertEquals(matches(run(), 1, 2, 3, 1, 5, 5), Seq("k 1 3 1", "k 1 5 2"))
    assertEquals(matches(run(), 1, 1, 0), Nil)
  }

  test("a match is emitted as soon as further rows cannot change it") {
    val rows = run()
    rows(("k", 1, 1), ("k", 2, 2), ("k", 0, 3))
    assertEquals(rows.at(3)(), Nil)
    assertEquals(rows.at(3.001)(), Seq("k 1 2 1"))
  }

  test("rows are taken in order of time; rows behind the watermark are late") {
    val rows = run()
    rows(("k", 2, 2), ("k", 1, 1))
    assertEquals(rows.at(2)(("k", 9, 1.999), ("k", 3, 3)), Seq("late: too_late"))
    assertEquals(rows.end(), Seq("k 1 3 1"))
  }

  test("rows of equal time are in arrival order, or in that of the next column") {
    def both(ties: String): Seq[String] = {
      val rows = run(ties = ties)
      rows(("k", 2, 1), ("k", 1, 1))
      rows.end()
    }
    assertEquals(both(""), Nil)
    assertEquals(both("""{"column": "v", "descending": false, "nulls_last": false}"""), Seq("k 1 2 1"))
  }

  test("where the search goes on after a match") {
    def matchesOf(skip: String, to: String = "") = matches(run(skip = skip, skipTo = to), 1, 2, 3).size
    assertEquals(matchesOf("past_last"), 1)
    assertEquals(matchesOf("to_next"), 1)
    val error = intercept[RuntimeException](matchesOf("to_first", "\"A\""))
    assert(error.getMessage.contains("a match begins with A"), error.getMessage)
    assertEquals(matchesOf("to_last", "\"B\""), 1)
  }

  test("all rows of a match, and the unmatched rows") {
    val values = Seq(0, 1, 2, 0)
    assertEquals(matches(run(rows = "show_empty"), values: _*), Seq("k 1 - 1 1", "k 1 2 1 2"))
    assertEquals(
      matches(run(rows = "with_unmatched"), values: _*).map(_.takeRight(1)), Seq("0", "1", "2", "0"))
  }

  test("rows `within` or more after the first one do not belong to the match") {
    def pair(distance: Double): Seq[String] = {
      val rows = run(within = "10000000")
      rows(("k", 1, 0), ("k", 2, distance))
      rows.end()
    }
    assertEquals(pair(9.999999), Seq("k 1 2 1"))
    assertEquals(pair(10), Nil)
  }
}
