package org.apache.spark.sql.headrace.windows

import scala.util.Random

class SessionWindowsSuite extends munit.FunSuite {
  private val gap10 = """{"kind": "session", "gap": 10000000}"""

  test("rows exactly a gap apart are in two sessions, rows closer than that in one") {
    val sessions = WindowRun(gap10)
    assertEquals(sessions(("a", "x", 0), ("a", "y", 9.999999), ("b", "x", 0), ("b", "y", 10)), Nil)
    assertEquals(sessions.end().toSet,
      Set("a [0 19.999999] xy 0 on_time", "b [0 10] x 0 on_time", "b [10 20] y 0 on_time"))
  }

  test("a session fires when the watermark reaches its end") {
    val sessions = WindowRun(gap10)
    sessions(("a", "x", 0))
    assertEquals(sessions.at(9.999)(), Nil)
    assertEquals(sessions.at(10)(), Seq("a [0 10] x 0 on_time"))
    assertEquals(sessions.keys, 0)
  }

  test("a row is late once the watermark reaches the end of its merged session and the lateness") {
    val sessions = WindowRun(gap10, lateness = 5)
    sessions(("a", "x", 0))
    sessions.at(10)()
    assertEquals(sessions.at(14.999)(("a", "y", 0)), Seq("a [0 10] xy 1 late"))
    assertEquals(sessions.at(15)(("a", "z", 0)), Seq("late: z [0 10] too_late"))
    // The own window of a row is over, but the session that it belongs to is not.
    sessions(("b", "x", 14))
    assertEquals(sessions(("b", "y", 5), ("b", "z", -1), ("b", "0", None)),
      Seq("late: z [-1 9] too_late", "late: 0 - no_event_time"))
    assertEquals(sessions.at(24)(), Seq("b [5 24] xy 0 on_time"))
  }

  test("a row between two sessions merges them, their counts and their deadlines") {
    val early = """{"after_watermark": {"early": {"after_count": 3}}}"""
    val sessions = WindowRun(gap10, trigger = early)
    assertEquals(sessions(("a", "x", 0), ("a", "z", 15)), Nil)
    assertEquals(sessions(("a", "y", 8)), Seq("a [0 25] xzy 0 early"))
    assertEquals(sessions.count("open_windows"), 1L)
    assertEquals(sessions.at(25)(), Seq("a [0 25] xzy 1 on_time"))
  }

  test("a merge in retracting mode retracts the panes of the sessions it absorbs") {
    val early = """{"after_watermark": {"early": {"after_count": 1}}}"""
    val shown = "window vs pane.index pane.retraction"
    val sessions = WindowRun(gap10, mode = "retracting", trigger = early, main = shown)
    assertEquals(sessions(("a", "x", 0), ("a", "z", 15)), Seq("[0 10] x 0 false", "[15 25] z 0 false"))
    assertEquals(sessions(("a", "y", 8)), Seq("[0 10] x 0 true", "[15 25] z 0 true", "[0 25] xzy 0 false"))
    assertEquals(sessions.at(25)(), Seq("[0 25] xzy 0 true", "[0 25] xzy 1 false"))
  }

  test("discarding panes have the rows since the last one") {
    val early = """{"after_watermark": {"early": {"after_count": 2}}}"""
    val sessions = WindowRun(gap10, mode = "discarding", trigger = early)
    assertEquals(sessions(("a", "x", 0), ("a", "y", 1)), Seq("a [0 11] xy 0 early"))
    assertEquals(sessions(("a", "z", 1)), Nil)
    assertEquals(sessions.at(11)(), Seq("a [0 11] z 1 on_time"))
  }

  test("a late row that extends a closed session opens it again") {
    val sessions = WindowRun(gap10, lateness = 100)
    sessions(("a", "x", 0))
    sessions.at(10)()
    assertEquals(sessions(("a", "y", 9)), Nil)
    assertEquals(sessions.at(19)(), Seq("a [0 19] xy 0 on_time"))
  }

  test("a finished trigger closes the session for further rows") {
    val sessions = WindowRun(gap10, trigger = """{"after_count": 2}""")
    assertEquals(sessions(("a", "x", 0), ("a", "y", 1)), Seq("a [0 11] xy 0 early"))
    assertEquals(sessions(("a", "z", 2)), Seq("late: z [0 12] closed"))
  }

  test("rows that no pane has emitted when the session ends are counted as dropped") {
    val sessions = WindowRun(gap10, trigger = """{"repeatedly": {"after_count": 2}}""")
    sessions(("a", "x", 0), ("a", "y", 1))
    sessions(("a", "z", 2))
    assertEquals(sessions.end(), Nil)
    assertEquals((sessions.count("emitted"), sessions.count("dropped")), (2L, 1L))
  }

  test("the removal of a row divides a session over a changelog") {
    val columns = "k string, v string, __ts timestamp, __change string"
    val sessions = WindowRun(gap10, columns = columns)
    sessions(("a", "x", 0, "insert"), ("a", "y", 8, "insert"), ("a", "z", 16, "insert"))
    assertEquals(sessions(("a", "y", 8, "delete"), ("a", "?", 8, "delete")), Seq("late: ? [8 18] too_late"))
    assertEquals(sessions.end().toSet, Set("a [0 10] x 0 on_time", "a [16 26] z 0 on_time"))
    assertEquals(sessions.count("superseded"), 2L)
  }

  test("random rows give the sessions of a list of all rows") {
    val random = new Random(11)
    (1 to 60).foreach { _ =>
      val sessions = WindowRun(gap10, aggregates = WindowRun.Count, main = "k window n")
      val batches = Seq
        .fill(5)(Seq.fill(random.nextInt(6))((Seq("a", "b")(random.nextInt(2)), random.nextInt(80))))
      batches.foreach(batch => sessions(batch.map { case (k, t) => (k, "x", t) }: _*))
      val expected = batches.flatten.groupBy(_._1).flatMap { case (k, rows) =>
        naive(rows.map(_._2)).map(k + _)
      }
      assertEquals(sessions.end().sorted, expected.toSeq.sorted)
    }
  }

  private def naive(times: Seq[Int]): Seq[String] = {
    val starts = times.sorted.zip(Int.MinValue +: times.sorted)
      .collect { case (t, before) if t - 10L >= before => t }
    starts.zip(starts.drop(1) :+ Int.MaxValue).map { case (from, until) =>
      val own = times.filter(t => t >= from && t < until)
      s" [$from ${own.max + 10}] ${own.size}"
    }
  }
}
