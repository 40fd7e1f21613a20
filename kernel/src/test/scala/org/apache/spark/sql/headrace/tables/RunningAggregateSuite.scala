package org.apache.spark.sql.headrace.tables

import org.apache.spark.sql.Column
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.headrace.operators.keyed.StepRun

class RunningAggregateSuite extends munit.FunSuite {
  import TableRun.withSigns

  private val columns = Seq("n" -> "count(*)", "total" -> "sum(v)", "mean" -> "avg(v)", "best" -> "max(v)",
    "kinds" -> "count(distinct v)", "vs" -> "sort_array(collect_list(v))")

  private def run(changelog: Boolean = true, keys: Seq[String] = Seq("k")): StepRun = {
    val frame = StepRun.frame(s"k string, v int, __ts timestamp${if (changelog) ", __change string" else ""}")
    val results: Seq[Column] = columns.map { case (name, text) => expr(text).as(name) }
    val grouped = frame.groupBy(keys.map(frame(_)): _*).agg(results.head, results.tail: _*)
    val declared = s"""{"keys": [${keys.map(key => s""""$key"""").mkString}], "time": "none", "both": true}"""
    new StepRun(RunningAggregateStep(frame, grouped, declared),
      "main" -> (keys ++ columns.map(_._1) :+ "__change").mkString(" "))
  }

  test("each micro-batch emits the new row of its keys") {
    val table = run(changelog = false)
    assertEquals(withSigns(table(("a", 1, 0), ("a", 3, 0), (None, 5, 0))),
      Seq("+a 2 4 2.0 3 2 (1 3)", "+- 1 5 5.0 5 1 (5)"))
    assertEquals(withSigns(table(("a", None, 0))), Seq("<a 2 4 2.0 3 2 (1 3)", ">a 3 4 2.0 3 2 (1 3)"))
  }

  test("every aggregate takes removed rows out") {
    val table = run()
    table(("a", 1, 0, "insert"), ("a", 5, 0, "insert"), ("a", 5, 0, "insert"))
    assertEquals(
      withSigns(table(("a", 5, 0, "update_before"), ("a", 2, 0, "update_after"))),
      Seq("<a 3 11 3.6666666666666665 5 2 (1 5 5)", ">a 3 8 2.6666666666666665 5 3 (1 2 5)"))
    assertEquals(withSigns(table(("a", 5, 0, "delete"))),
      Seq("<a 3 8 2.6666666666666665 5 3 (1 2 5)", ">a 2 3 1.5 2 2 (1 2)"))
  }

  test("a key without rows is removed") {
    val table = run()
    table(("a", 1, 0, "insert"))
    assertEquals(withSigns(table(("a", 1, 0, "delete"))), Seq("-a 1 1 1.0 1 1 (1)"))
    assertEquals(table.keys, 0)
  }

  test("an aggregate of all rows stays without rows") {
    val table = run(keys = Nil)
    table(("a", 1, 0, "insert"))
    assertEquals(withSigns(table(("a", 1, 0, "delete"))), Seq("<1 1 1.0 1 1 (1)", ">0 - - - 0 ()"))
  }

  test("a change and its reversal have no result") {
    val table = run()
    table(("a", 1, 0, "insert"))
    assertEquals(table(("a", 2, 0, "insert"), ("a", 2, 0, "delete")), Nil)
  }
}
