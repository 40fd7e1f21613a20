package org.apache.spark.sql.headrace.tables

/** Joins of streams and tables with a table: on arrival, at event time, live. */
class TableJoinSuite extends munit.FunSuite {
  import TableRun.{join, remaining, withSigns}

  private def onLeft(id: String, k: String, ts: Double = 0, change: String = null): Product =
    (id, k, ts, change, None, None)
  private def onRight(k: String, v: String, change: String): Product = (None, k, 0, None, (v, 0), change)

  test("on arrival a row meets the table as it is after the table's changes of the micro-batch") {
    val rows = join("arrival")
    assertEquals(rows(onLeft("x", "a")), Nil)
    assertEquals(rows(onLeft("y", "a"), onRight("a", "1", "insert")), Seq("y 1"))
    assertEquals(rows(onRight("a", "1", "update_before"), onRight("a", "2", "update_after")), Nil)
    assertEquals(rows(onLeft("z", "a"), onLeft("w", "b")), Seq("z 2"))
    assertEquals((rows.count("processed"), rows.count("unmatched")), (5L, 2L))
  }

  test("an outer join on arrival keeps rows without a partner; a null key has none") {
    val rows = join("arrival", how = "left")
    assertEquals(
      rows(onRight(null, "1", "insert"), onLeft("x", null), onLeft("y", "a")).sorted, Seq("x -", "y -"))
  }

  test("a CDC row replaces that of its key") {
    val rows = join("live", more = """, "upserts": true""")
    rows(onLeft("x", "a", change = "insert"))
    assertEquals(withSigns(rows(onRight("a", "1", null))), Seq("+x 1"))
    assertEquals(withSigns(rows(onRight("a", "2", null))), Seq("<x 1", ">x 2"))
  }

  private def at(id: String, k: String, ts: Double): Product = (id, k, ts, None, None, None, None)
  private def version(k: String, v: String, ts: Double, number: Int = 1, deleted: Boolean = false): Product =
    (None, k, ts, None, (v, ts), deleted, number)

  test("at event time a row has the version that is valid at its time") {
    val rows = join("event_time", how = "left")
    rows(version("a", "1", 5), version("a", "2", 8), version("a", "-", 9, deleted = true))
    rows(Seq(4.999, 5.0, 7.999, 8.0, 9.0).map(t => at(t.toString, "a", t)): _*)
    assertEquals(rows.at(9.001)(), Seq("4.999 -", "5.0 1", "7.999 1", "8.0 2", "9.0 -"))
  }

  test("a row waits until the watermark has passed it, and is late behind it") {
    val rows = join("event_time")
    rows(version("a", "1", 1))
    assertEquals(rows(at("x", "a", 5)), Nil)
    assertEquals(rows.at(5)(at("y", "a", 4.999)), Seq("late: too_late"))
    assertEquals(rows.at(5.001)(), Seq("x 1"))
    assertEquals(rows(at("z", "b", 7)), Nil)
    assertEquals(rows.end(), Nil)
    assertEquals((rows.count("unmatched"), rows.count("buffered")), (1L, 0L))
  }

  test("of versions of one time the one with the highest number is valid; a late version still counts") {
    val rows = join("event_time")
    rows.at(6)(version("a", "2", 5, number = 2), version("a", "1", 5), at("x", "a", 7))
    assertEquals(rows.at(8)(), Seq("x 2"))
  }

  test("a live join follows the changes of both sides") {
    val rows = join("live", more = """, "identity": ["id"]""")
    assertEquals(rows(onLeft("x", "a", change = "insert")), Nil)
    assertEquals(withSigns(rows(onRight("a", "1", "insert"))), Seq("+x 1"))
    assertEquals(withSigns(rows(onLeft("y", "a", change = "insert"))), Seq("+y 1"))
    assertEquals(withSigns(rows(onRight("a", "1", "update_before"), onRight("a", "2", "update_after"))),
      Seq("<x 1", ">x 2", "<y 1", ">y 2"))
    assertEquals(withSigns(rows(onLeft("x", "a", change = "delete"))), Seq("-x 2"))
    assertEquals(withSigns(rows(onRight("a", "2", "delete"))), Seq("-y 2"))
  }

  test("an outer live join has rows without a partner until there is one") {
    val rows = join("live", how = "left", more = """, "identity": ["id"]""")
    assertEquals(withSigns(rows(onLeft("x", "a", change = "insert"))), Seq("+x -"))
    assertEquals(withSigns(rows(onRight("a", "1", "insert"))), Seq("<x -", ">x 1"))
    assertEquals(withSigns(rows(onRight("a", "1", "delete"))), Seq("<x 1", ">x -"))
  }

  test("a full live join has the rows of both sides") {
    val rows = join("live", how = "full", more = """, "identity": ["id"]""")
    val results = Seq(
      rows(onRight("a", "1", "insert"), onRight(null, "2", "insert"), onLeft("z", null, change = "insert")),
      rows(onLeft("x", "a", change = "insert")), rows(onRight("a", "1", "delete")),
      rows(onLeft("x", "a", change = "delete"))).map(withSigns)
    assertEquals(remaining(results.take(1).flatten), Seq("- 1", "- 2", "z -"))
    assertEquals(remaining(results.take(2).flatten), Seq("- 2", "x 1", "z -"))
    assertEquals(remaining(results.take(3).flatten), Seq("- 2", "x -", "z -"))
    assertEquals(remaining(results.flatten), Seq("- 2", "z -"))
  }

  test("a change and its reversal in one micro-batch have no result") {
    val rows = join("live")
    rows(onRight("a", "1", "insert"))
    assertEquals(rows(onLeft("x", "a", change = "insert"), onLeft("x", "a", change = "delete")), Nil)
  }

  test("a live join of streams pairs all rows, equal ones too") {
    val rows = join("live")
    assertEquals(
      withSigns(rows(onLeft("x", "a"), onLeft("x", "a"), onRight("a", "1", null))), Seq("+x 1", "+x 1"))
    assertEquals(withSigns(rows(onRight("a", "1", null))), Seq("+x 1", "+x 1"))
    assertEquals((rows.count("rows"), rows.count("processed")), (4L, 4L))
  }

  test("a semi join has the left rows with a match, an anti join the others") {
    val (semi, anti) = (join("live", "semi"), join("live", "anti"))
    val changes = Seq(
      Seq(onLeft("x", "a"), onLeft("n", null)), Seq(onRight("a", "1", "insert")),
      Seq(onRight("a", "2", "insert"), onLeft("y", "a")), Seq(onRight("a", "1", "delete")),
      Seq(onRight("a", "2", "delete")))
    assertEquals(
      changes.map(rows => withSigns(semi(rows: _*))), Seq(Nil, Seq("+x"), Seq("+y"), Nil, Seq("-x", "-y")))
    assertEquals(changes.map(rows => withSigns(anti(rows: _*)).sorted),
      Seq(Seq("+n", "+x"), Seq("-x"), Nil, Nil, Seq("+x", "+y")))
  }

  test("with a condition each row has its own matches") {
    val full = join("live", "full", where = "left.id < right.v")
    val results = Seq(
      full(onLeft("1", "a"), onLeft("5", "a")), full(onRight("a", "3", "insert")),
      full(onRight("a", "0", "insert")), full(onLeft("0", "a")), full(onRight("a", "3", "delete")))
      .map(withSigns)
    assertEquals(remaining(results.take(2).flatten), Seq("1 3", "5 -"))
    assertEquals(remaining(results.take(3).flatten), Seq("- 0", "1 3", "5 -"))
    assertEquals(remaining(results.take(4).flatten), Seq("- 0", "0 3", "1 3", "5 -"))
    assertEquals(remaining(results.flatten), Seq("- 0", "0 -", "1 -", "5 -"))
    val anti = join("live", "anti", where = "left.id < right.v")
    assertEquals(withSigns(anti(onLeft("1", "a"), onRight("a", "0", "insert"))), Seq("+1"))
    assertEquals(withSigns(anti(onRight("a", "3", "insert"))), Seq("-1"))
    assertEquals(withSigns(anti(onRight("a", "3", "delete"))), Seq("+1"))
  }

  test("the removal of a row that a side does not have is left out") {
    val rows = join("live", "left")
    rows(onLeft("x", "a"))
    assertEquals(rows(onRight("a", "1", "delete"), onLeft("y", "a", change = "delete")), Nil)
    assertEquals(withSigns(rows(onRight("a", "1", "insert"))), Seq("<x -", ">x 1"))
  }

  test("a condition leaves out the table's row on arrival and at event time") {
    val arrival = join("arrival", "left", where = "left.id < right.v")
    assertEquals(arrival(onRight("a", "3", "insert"), onLeft("1", "a"), onLeft("5", "a")), Seq("1 3", "5 -"))
    val timed = join("event_time", "left", where = "left.id < right.v")
    timed(version("a", "3", 1), at("1", "a", 2), at("5", "a", 2))
    assertEquals(timed.at(3)(), Seq("1 3", "5 -"))
  }
}
