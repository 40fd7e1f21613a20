package org.apache.spark.sql.headrace.windows

/** The state of keys without rows for the length of their TTL. */
class ExpiringSuite extends munit.FunSuite {
  private val ttl = """, "ttl": 10000000"""
  private val count3 = """{"kind": "count", "size": 3}"""

  test("a key expires when the watermark is its TTL past its last row") {
    val windows = WindowRun(count3, more = ttl)
    windows(("a", "x", 5))
    windows.at(14.999)()
    assertEquals((windows.keys, windows.count("expired")), (1, 0L))
    windows.at(15)()
    assertEquals((windows.keys, windows.count("expired"), windows.count("open_windows")), (0, 1L, 0L))
  }

  test("a row that arrives late counts from the watermark") {
    val windows = WindowRun(count3.replace("3}", """3, "order": "arrival"}"""), more = ttl)
    windows.at(20)(("a", "x", 5))
    windows.at(29.999)()
    assertEquals(windows.keys, 1)
    windows.at(30)()
    assertEquals(windows.keys, 0)
  }

  test("a key that returns starts with window 0") {
    val windows = WindowRun("""{"kind": "count", "size": 1}""", more = ttl, main = "window vs")
    windows(("a", "x", 5))
    assertEquals(windows.at(6)(("a", "y", 7)), Seq("[5 5 0] x"))
    assertEquals(windows.at(8)(), Seq("[7 7 1] y"))
    windows.at(30)()
    assertEquals(windows(("a", "z", 31)), Nil)
    assertEquals(windows.at(32)(), Seq("[31 31 0] z"))
  }

  test("windows that the watermark completes fire before the key expires") {
    val windows = WindowRun("""{"kind": "count", "size": 1}""", more = ttl, main = "vs")
    windows(("a", "x", 5))
    assertEquals(windows.at(100)(), Seq("x"))
    assertEquals((windows.keys, windows.count("expired")), (0, 0L))
  }

  test("at the end of the input windows fire instead of expiring") {
    val windows = WindowRun("""{"kind": "global"}""", more = ttl, main = "vs")
    windows(("a", "x", 5))
    assertEquals(windows.end(), Seq("x"))
    assertEquals(windows.count("expired"), 0L)
  }

  test("rows that a pane has emitted do not count as expired") {
    val trigger = """{"repeatedly": {"after_count": 2}}"""
    val windows = WindowRun("""{"kind": "global"}""", more = ttl, trigger = trigger, main = "vs")
    assertEquals(windows(("a", "x", 5), ("a", "y", 5)), Seq("xy"))
    windows(("a", "z", 6))
    windows.at(16)()
    assertEquals((windows.keys, windows.count("expired"), windows.count("emitted")), (0, 1L, 2L))
  }
}
