package org.apache.spark.sql.headrace.over

class OrderedOverSuite extends munit.FunSuite {
  import OverRun.{inOrder, rows, seconds, AllRows, Range}

  private def row(v: Int, id: String, ts: Double): Product = ("a", v, id, ts)

  test("a row waits for the watermark, and one behind it is late") {
    val sums = inOrder(rows(1), "sum(v)")
    assertEquals(sums(row(1, "x", 10), row(2, "y", 5)), Nil)
    assertEquals(sums.at(10)(row(9, "z", 4)), Seq("y 2", "late: z too_late"))
    assertEquals(sums.at(10.001)(), Seq("x 3"))
  }

  test("a frame of rows ends with its number of rows, a range with its distance") {
    val last = inOrder(rows(1), "sum(v)")
    last(row(1, "x", 1), row(2, "y", 2), row(4, "z", 3))
    assertEquals(last.end(), Seq("x 1", "y 3", "z 6"))
    val near = inOrder(seconds(10), "sum(v)")
    near(row(1, "x", 1), row(2, "y", 11), row(4, "z", 11.001))
    assertEquals(near.end(), Seq("x 1", "y 3", "z 6"))
  }

  test("rows of equal time are peers in a range, not in a frame of rows") {
    val peers = inOrder(Range, "sum(v)")
    peers(row(1, "x", 1), row(2, "y", 1))
    assertEquals(peers.end(), Seq("x 3", "y 3"))
    val single = inOrder(AllRows, "sum(v)")
    single(row(1, "x", 1), row(2, "y", 1))
    assertEquals(single.end(), Seq("x 1", "y 3"))
  }

  test("further columns order rows of equal time") {
    val places = inOrder(Range, "rank()", ties = true)
    places(("a", 3, "x", 3, 1), ("a", 1, "y", 1, 1), ("a", 1, "z", 1, 1))
    assertEquals(places.end(), Seq("y 1", "z 1", "x 3"))
  }

  test("ranks count rows and groups across micro-batches") {
    val places = inOrder(Range, "concat_ws(' ', row_number(), rank(), dense_rank())")
    places(row(0, "w", 1), row(0, "x", 2), row(0, "y", 2))
    assertEquals(places.at(3)(row(0, "z", 4)), Seq("w 1 1 1", "x 2 2 2", "y 3 2 2"))
    assertEquals(places.end(), Seq("z 4 4 3"))
  }

  test("lag reads the rows before, lead waits for the rows behind or the end") {
    val steps = inOrder(Range, "concat_ws(' ', lag(v, 2, -1), lead(v, 1, -1))")
    steps(row(1, "x", 1), row(2, "y", 2))
    assertEquals(steps.at(5)(row(3, "z", 5)), Seq("x -1 2"))
    assertEquals(steps.end(), Seq("y -1 3", "z 1 -1"))
  }

  test("a key whose rows have left all ranges has no state") {
    val near = inOrder(seconds(10), "sum(v)")
    near(row(1, "x", 1))
    assertEquals(near.at(11)(), Seq("x 1"))
    assertEquals(near.keys, 1)
    near.at(11.002)()
    assertEquals(near.keys, 0)
  }

  test("in arrival order a row is processed at once and none is late") {
    val sums = inOrder(AllRows, "sum(v)", arrival = true)
    assertEquals(sums.at(10)(row(1, "x", 10), row(2, "y", 5)), Seq("x 1", "y 3"))
  }

  test("long frames are merged from stretches and give the sums of their rows") {
    val last = inOrder(rows(99), "sum(v)")
    (1 to 300).foreach(i => last(row(i, s"r$i", i)))
    val expected = (1 to 300).map(i => s"r$i ${(math.max(1, i - 99) to i).sum}")
    assertEquals(last.end(), expected)
  }

  test("what needs all rows of a key, and OVER itself, is refused") {
    Seq("ntile(4)", "sum(v) over (order by v)", "lag(v) ignore nulls", "lag(v, v)").foreach { function =>
      intercept[IllegalArgumentException](inOrder(Range, function))
    }
  }
}
