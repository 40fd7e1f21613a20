package org.apache.spark.sql.headrace.patterns

import org.apache.spark.sql.headrace.operators.keyed.StepRun

/** Patterns over rows `(k, v, ts)`; a match shows the values of its rows, step by step. */
class MatchStepSuite extends munit.FunSuite {
  private def element(step: Int, contiguity: String, more: String = ""): String =
    s"""{"step": $step, "where": $step, "contiguity": "$contiguity"$more}"""
  private val ab = Seq(element(0, "first"), element(1, "followed_by"))

  private def run(elements: Seq[String] = ab, more: String = "", skip: String = """{"kind": "none"}""",
      conditions: Seq[String] = Seq("v = 'a'", "v = 'b'", "v = 'c'")): StepRun = {
    val spec = s"""{"steps": ["a", "b", "c"], "conditions": ${conditions.mkString("[\"", "\", \"", "\"]")},
      |"keys": ["k"], "elements": ${elements.mkString("[", ",", "]")}, "skip": $skip$more}""".stripMargin
    val step = MatchStep(StepRun.frame("k string, v string, i int, __ts timestamp"), spec)
    new StepRun(step, "main" -> "k a b c __ts", "timeouts" -> "k a b c __ts", "late" -> "v reason")
  }

  private def row(k: String, v: String, ts: Any, i: Int = 0): Product = (k, v, i, ts)

  /** Feeds one letter per second and returns the letters of each match, with their seconds. */
  private def matches(run: StepRun, letters: String): Seq[String] = {
    run(letters.zipWithIndex.map { case (letter, i) => row("k", letter.toString, i, i) }: _*)
    run.end()
      .map(_.replaceAll("\\[k \\w (\\d+)\\]", "$1").replaceAll("[()]|^k ", "").replaceAll(" +", " ").trim)
  }

  test("a row is released when the watermark has passed it, and late when it is behind") {
    val rows = run()
    assertEquals(rows(row("k", "b", 2), row("k", "a", 1)), Nil)
    assertEquals(rows.at(2)(row("k", "b", 2), row("k", "b", 1.999)), Seq("late: b too_late"))
    assertEquals(rows.at(2.001)().size, 1)
    assertEquals(rows(row("k", "a", None)), Seq("late: a no_event_time"))
  }

  test("a match has its rows and the event time of the last one") {
    val rows = run()
    rows(row("k", "a", 1), row("k", "b", 5), row("j", "b", 6))
    assertEquals(rows.end(), Seq("k ([k a 0]) ([k b 0]) () 5"))
  }

  test("a match ends less than `within` after its first row, and times out at exactly that") {
    val within = """, "within": 10000000"""
    val inTime = run(more = within)
    inTime(row("k", "a", 0), row("k", "b", 9.999999))
    assertEquals(inTime.end(), Seq("k ([k a 0]) ([k b 0]) () 9.999999"))
    val over = run(more = within)
    over(row("k", "a", 0), row("k", "b", 10))
    assertEquals(over.end(), Seq("timeouts: k ([k a 0]) () () 10"))
    val watermark = run(more = within)
    watermark(row("k", "a", 0))
    assertEquals(watermark.at(9.999)(), Nil)
    assertEquals(watermark.at(10)(), Seq("timeouts: k ([k a 0]) () () 10"))
    assertEquals((watermark.keys, watermark.count("timed_out")), (0, 1L))
  }

  test("`between` bounds the time from one row to the next") {
    val three = ab :+ element(2, "followed_by")
    val between = """, "between": 5000000"""
    val inTime = run(three, between)
    inTime(row("k", "a", 0), row("k", "b", 4.9), row("k", "c", 9.8))
    assertEquals(inTime.end().head, "k ([k a 0]) ([k b 0]) ([k c 0]) 9.8")
    val over = run(three, between)
    over(row("k", "a", 0), row("k", "b", 4.9), row("k", "c", 9.9))
    assertEquals(over.end().head, "timeouts: k ([k a 0]) ([k b 0]) () 9.9")
  }

  test("contiguity") {
    def matchesOf(contiguity: String): Seq[String] =
      matches(run(Seq(element(0, "first"), element(1, contiguity))), "acbabb")
    assertEquals(matchesOf("followed_by").toSet, Set("0 2 2", "3 4 4"))
    assertEquals(matchesOf("next"), Seq("3 4 4"))
    assertEquals(matchesOf("followed_by_any").size, 5)
    val not = Seq(element(0, "first"), element(2, "not_followed_by"), element(1, "followed_by"))
    assertEquals(matches(run(not), "acbab"), Seq("3 4 4"))
    val notNext = Seq(element(0, "first"), element(2, "not_next"), element(1, "followed_by"))
    assertEquals(matches(run(notNext), "acbabcb"), Seq("3 4 4"))
  }

  test("a trailing not_followed_by is satisfied by the timeout") {
    val not = Seq(element(0, "first"), element(1, "not_followed_by"))
    val rows = run(not, """, "within": 5000000""")
    rows(row("k", "a", 0), row("k", "a", 3), row("k", "b", 6))
    assertEquals(rows.at(4.999)(), Nil)
    assertEquals(rows.at(5)(), Seq("k ([k a 0]) () () 0"))
    assertEquals(rows.end(), Nil)
  }

  test("repetitions: number, gap, until, greedy") {
    def loop(more: String) = Seq(element(0, "first", more), element(1, "followed_by"))
    assertEquals(matches(run(loop(""", "from": 2, "to": 2""")), "aab"), Seq("0 1 2 2"))
    assertEquals(matches(run(loop(""", "from": 1, "to": 2""")), "aab").size, 3)
    assertEquals(
      matches(run(loop(""", "from": 1, "greedy": true"""), skip = """{"kind": "past_last"}"""), "aaab"),
      Seq("0 1 2 3 3"))
    assertEquals(matches(run(loop(""", "from": 2, "to": 2, "inner": "consecutive"""")), "acab"), Nil)
    assertEquals(matches(run(loop(""", "from": 2, "to": 2, "gap": 2000000""")), "acab"), Nil)
    assertEquals(matches(run(loop(""", "from": 2, "to": 2, "gap": 2000001""")), "acab"), Seq("0 2 3 3"))
    val until = Seq(element(0, "first", """, "from": 1, "until": 2"""), element(1, "followed_by"))
    assertEquals(matches(run(until), "acab").toSet, Set("0 3 3", "2 3 3"))
  }

  test("skip strategies") {
    val loop = Seq(element(0, "first", """, "from": 1"""), element(1, "followed_by"))
    def matchesOf(skip: String): Seq[String] = matches(run(loop, skip = skip), "aab")
    assertEquals(matchesOf("""{"kind": "none"}""").toSet, Set("0 2 2", "0 1 2 2", "1 2 2"))
    assertEquals(matchesOf("""{"kind": "past_last"}""").size, 1)
    assertEquals(matchesOf("""{"kind": "to_next"}""").map(_.head), Seq('0', '1'))
    assertEquals(matchesOf("""{"kind": "to_last", "step": "b"}""").size, 1)
    assertEquals(matchesOf("""{"kind": "to_first", "step": "a"}""").map(_.head).distinct, Seq('0', '1'))
  }

  test("a condition may refer to the rows of other steps; a null condition is false") {
    val rows = run(conditions = Seq("v <= 'b'", "v > a.v", "false"))
    assertEquals(matches(rows, "bac"), Seq("0 2 2", "1 2 2"))
    val nulls = run()
    nulls(row("k", "a", 0), row("k", null, 1), row("k", "b", 2))
    assertEquals(nulls.end().size, 1)
  }

  test("in arrival order no row is late, and a match is emitted at once") {
    val rows = run(more = """, "order": "arrival"""")
    assertEquals(rows.at(9)(row("k", "a", 5), row("k", "b", 2)), Seq("k ([k a 0]) ([k b 0]) () 2"))
  }

  test("groups and alternatives") {
    val group = Seq(s"""{"group": [${ab.mkString(",")}], "contiguity": "first", "from": 2, "to": 2}""",
      element(2, "followed_by"))
    assertEquals(matches(run(group), "ababc"), Seq("0 2 1 3 4 4"))
    val either = Seq(s"""{"either": [[${element(0, "first")}], [${element(
          1, "first")}]], "contiguity": "first"}""", element(2, "followed_by"))
    assertEquals(matches(run(either), "abc").toSet, Set("0 2 2", "1 2 2"))
  }
}
