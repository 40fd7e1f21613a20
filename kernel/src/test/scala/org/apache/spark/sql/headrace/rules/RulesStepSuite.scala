package org.apache.spark.sql.headrace.rules

import org.apache.spark.sql.headrace.operators.keyed.StepRun

/** Rules that are added, changed and removed between micro-batches. */
class RulesStepSuite extends munit.FunSuite {
  private class Run(measures: String = "null") {
    private val step = RulesStep(StepRun.frame("k string, v string, __ts timestamp"),
      s"""{"keys": ["k"], "time": "event", "measures": $measures}""")
    val rows =
      new StepRun(step, "main" -> s"k rule version start end${if (measures == "null") "" else " first"}",
        "timeouts" -> "k rule version end")
    def load(number: Int, rules: String*): Unit = step.load(s"""{"number": $number, "rules": ${rules
        .mkString("[", ",", "]")}}""")
  }

  /** A rule for two letters, one after the other; `serial` identifies its state. */
  private def rule(letters: String, serial: Int = 1, since: Int = 0, select: String = "null"): String = {
    val pattern = s"""{"steps": ["x", "y"], "keys": ["k"], "skip": {"kind": "none"}, "within": 10000000,
      |"conditions": ["v = '${letters.head}'", "v = '${letters.last}'"], "select": $select, "elements": [
      |{"step": 0, "where": 0, "contiguity": "first"},
      |{"step": 1, "where": 1, "contiguity": "followed_by"}]}""".stripMargin.replace("\n", " ")
    val text = pattern.replace("\"", "\\\"")
    s"""{"id": "$letters", "version": $serial, "serial": $serial, "since": $since, "pattern": "$text"}"""
  }

  test("each rule has its own matches") {
    val run = new Run
    run.load(1, rule("ab", 1), rule("ac", 2))
    run.rows(("k", "a", 1), ("k", "b", 2), ("k", "c", 3))
    assertEquals(run.rows.end().toSet, Set("k ab 1 1 2", "k ac 2 1 3"))
  }

  test("without rules rows have no effect") {
    val run = new Run
    run.rows(("k", "a", 1))
    assertEquals((run.rows.end(), run.rows.keys, run.rows.count("processed")), (Nil, 0, 1L))
  }

  test("a partial match times out at `within` after its first row") {
    val run = new Run
    run.load(1, rule("ab"))
    run.rows(("k", "a", 1))
    assertEquals(run.rows.at(10.999)(), Nil)
    assertEquals(run.rows.at(11)(), Seq("timeouts: k ab 1 11"))
  }

  test("a rule that stays keeps its partial matches, one that is removed or changed loses them") {
    val run = new Run
    run.load(1, rule("ab", 1), rule("ac", 2), rule("ad", 3))
    run.rows(("k", "a", 1))
    run.rows.at(2)()
    run.load(2, rule("ab", 1), rule("ac", 4, since = 2))
    run.rows(("k", "b", 3), ("k", "c", 3), ("k", "d", 3))
    assertEquals(run.rows.at(4)(), Seq("k ab 1 1 3"))
    assertEquals(run.rows.count("dropped_matches"), 2L)
    assertEquals((run.rows.end(), run.rows.keys), (Nil, 0))
  }

  test("a rule does not see rows that arrived before it, though they are released after it") {
    val run = new Run
    run.load(1, rule("ab", 1))
    run.rows(("k", "a", 1))
    run.load(2, rule("ab", 1), rule("ac", 2, since = 2))
    run.rows(("k", "c", 3), ("k", "a", 4), ("k", "c", 5))
    assertEquals(run.rows.end().filter(_.contains("ac")), Seq("k ac 2 4 5"))
  }

  test("a row behind the watermark is late") {
    val run = new Run
    run.load(1, rule("ab"))
    assertEquals(run.rows.at(5)(("k", "a", 4.999)), Seq("late: too_late"))
  }

  test("measures have the declared type; those that a rule lacks are null") {
    val run = new Run(""""first string"""")
    run.load(1, rule("ab", 1, select = """[["first", "x.v"]]"""), rule("ac", 2, select = "[]"))
    run.rows(("k", "a", 1), ("k", "b", 2), ("k", "c", 2))
    assertEquals(run.rows.end().toSet, Set("k ab 1 1 2 a", "k ac 2 1 2 -"))
    val error = intercept[IllegalArgumentException](
      run.load(2, rule("ab", 3, select = """[["first", "array(x.v)"]]""")))
    assertEquals(error.getMessage, "expected the measure `first` to be string, got array<string>")
  }
}
