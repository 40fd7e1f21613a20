package org.apache.spark.sql.headrace.over

import scala.util.Random

import org.apache.spark.sql.headrace.tables.TableRun.{remaining, withSigns}

class TableOverSuite extends munit.FunSuite {
  import OverRun.{rows, table, AllRows, Range}

  private def change(v: Int, id: String, kind: String = "insert"): Product = ("a", v, id, null, kind, v)

  test("a row revises the results of the rows behind it") {
    val sums = table(Range, "sum(v)")
    assertEquals(withSigns(sums(change(1, "x"), change(5, "y"))), Seq("+x 1", "+y 6"))
    assertEquals(withSigns(sums(change(3, "z"))), Seq("+z 4", "<y 6", ">y 9"))
    assertEquals(withSigns(sums(change(1, "x", "delete"))), Seq("-x 1", "<z 4", ">z 3", "<y 9", ">y 8"))
  }

  test("peers share a range, and are added one by one in a frame of rows") {
    val peers = table(Range, "sum(v)")
    peers(change(2, "x"))
    assertEquals(withSigns(peers(change(2, "y"))), Seq("<x 2", ">x 4", "+y 4"))
    val single = table(AllRows, "sum(v)")
    single(change(2, "x"))
    assertEquals(withSigns(single(change(2, "y"))), Seq("+y 4"))
  }

  test("the removed last row changes its peers and the row before it") {
    val peers = table(Range, "concat_ws(' ', count(*), lead(id))")
    peers(change(1, "x"), change(1, "y"))
    assertEquals(withSigns(peers(change(1, "y", "delete"))), Seq("-y 2", "<x 2 y", ">x 1"))
  }

  test("a removal of an unknown row changes nothing, and the last row takes the state along") {
    val sums = table(Range, "sum(v)")
    sums(change(1, "x"))
    assertEquals(sums(change(1, "?", "delete")), Nil)
    assertEquals(withSigns(sums(change(1, "x", "delete"))), Seq("-x 1"))
    assertEquals(sums.keys, 0)
  }

  // The functions, each with the result of row `i` of the sorted rows (value, id, sequence).
  private type Rows = IndexedSeq[(Int, String)]
  private val peersUntil = (all: Rows, i: Int) => all.takeWhile(_._1 <= all(i)._1)
  private val functions = Seq[(String, String, (Rows, Int) => String)](
    (AllRows, "sum(v)", (all, i) => all.take(i + 1).map(_._1).sum.toString),
    (Range, "sum(v)", (all, i) => peersUntil(all, i).map(_._1).sum.toString),
    (Range, "max(id)", (all, i) => peersUntil(all, i).map(_._2).max),
    (rows(2), "sum(v)", (all, i) => all.slice(math.max(0, i - 2), i + 1).map(_._1).sum.toString),
    (Range, "row_number()", (_, i) => (i + 1).toString),
    (Range, "rank()", (all, i) => (all.indexWhere(_._1 == all(i)._1) + 1).toString),
    (Range, "dense_rank()", (all, i) => all.take(i + 1).map(_._1).distinct.size.toString),
    (Range, "coalesce(lag(id, 2), '?')", (all, i) => all.lift(i - 2).fold("?")(_._2)),
    (Range, "coalesce(lead(id), '?')", (all, i) => all.lift(i + 1).fold("?")(_._2)))

  functions.foreach { case (frame, function, expected) =>
    test(s"random changes of many chunks give $function over {$frame} of a sorted list") {
      val random = new Random(7)
      val over = table(frame, function)
      var (content, results) = (Vector.empty[(Int, String)], Seq.empty[String])
      (1 to 40).foreach { batch =>
        val changes = Seq.tabulate(random.nextInt(12)) { i =>
          if (content.nonEmpty && random.nextInt(3) == 0) {
            val (v, id) = content(random.nextInt(content.size))
            content = content.filterNot(_ == ((v, id)))
            change(v, id, "delete")
          } else {
            val (v, id) = (random.nextInt(if (batch < 20) 30 else 1000), s"$batch.$i")
            content :+= ((v, id))
            change(v, id)
          }
        }
        results = keep(results, withSigns(over(changes: _*)))
        val sorted = content.sortBy(_._1)
        assertEquals(results, sorted.indices.map(i => s"${sorted(i)._2} ${expected(sorted, i)}").sorted)
      }
    }
  }

  test("a range of numbers ends at its distance") {
    val near = table(""""kind": "range", "preceding": 2""", "count(*)", low = true)
    def insert(v: Int): Product = ("a", v, s"r$v", null, "insert", v, v - 2)
    near(insert(1), insert(4))
    assertEquals(withSigns(near(insert(2))), Seq("+r2 2", "<r4 1", ">r4 2"))
    assertEquals(withSigns(near(insert(7))), Seq("+r7 1"))
  }

  private def keep(before: Seq[String], changes: Seq[String]): Seq[String] =
    remaining(before.map("+" + _) ++ changes)
}
