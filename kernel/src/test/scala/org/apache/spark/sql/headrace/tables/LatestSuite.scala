package org.apache.spark.sql.headrace.tables

class LatestSuite extends munit.FunSuite {
  import TableRun.{latest, withSigns}

  test("the row with the highest event time is the latest one, of equal times the later arrival") {
    val table = latest()
    assertEquals(withSigns(table(("a", "1", false, 5))), Seq("+a 1"))
    assertEquals(withSigns(table(("a", "2", false, 4.999))), Nil)
    assertEquals(withSigns(table(("a", "3", false, 5))), Seq("<a 1", ">a 3"))
    assertEquals((table.count("processed"), table.count("superseded")), (2L, 1L))
  }

  test("an equal row changes nothing") {
    val table = latest()
    table(("a", "1", false, 5))
    assertEquals(table(("a", "1", false, 5)), Nil)
  }

  test("a row that deletes removes its key, unless it is older") {
    val table = latest()
    table(("a", "1", false, 5))
    assertEquals(table(("a", "x", true, 4)), Nil)
    assertEquals(withSigns(table(("a", "x", true, 5))), Seq("-a 1"))
    assertEquals(withSigns(table(("a", "2", false, 4))), Nil)
    assertEquals(withSigns(table(("a", "3", None, 6))), Seq("+a 3"))
  }

  test("by arrival the last row is the latest one, whatever its time") {
    val table = latest(""", "by_arrival": true""")
    table(("a", "1", false, 5))
    assertEquals(
      withSigns(table(("a", "2", false, 4), ("a", "3", false, None))), Seq("<a 1", ">a 2", "<a 2", ">a 3"))
  }

  test("rows without an event time are late") {
    assertEquals(
      latest()(("a", "1", false, None), ("a", "1", false, -1)), Seq("late: no_event_time", "late: too_late"))
  }

  test("a null key is a key") { assertEquals(withSigns(latest()((None, "1", false, 5))), Seq("+- 1")) }

  test("versions have every row in order of arrival, older ones and removals included") {
    val table = latest(""", "versions": true""")
    assertEquals(
      table(("a", "1", false, 5), ("a", "2", false, 4), ("a", "3", true, 6)).filter(_.startsWith("versions")),
      Seq("versions: a 1 false 1 5", "versions: a 2 false 2 4", "versions: a 3 true 3 6"))
  }

  test("a key without rows for the length of the TTL is removed") {
    val table = latest(""", "ttl": 10000000""")
    table(("a", "1", false, 5))
    assertEquals(table.at(14.999)(), Nil)
    assertEquals(withSigns(table.at(15)()), Seq("-a 1"))
    assertEquals(table.keys, 0)
    assertEquals(withSigns(table(("a", "2", false, 16))), Seq("+a 2"))
    assertEquals(table.end(), Nil)
  }
}
