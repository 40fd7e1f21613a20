package org.apache.spark.sql.headrace.tables

import scala.util.Random

class TopNSuite extends munit.FunSuite {
  import TableRun.{remaining, withSigns, topN}

  private def row(k: String, v: Option[Int], id: String): Product = (k, v, id, v, 0)
  private def change(k: String, v: Int, id: String, kind: String): Product = (k, v, id, v, 0, kind)

  test("a better row moves the others down, one beyond the last place changes nothing") {
    val top = topN(2)
    assertEquals(withSigns(top(row("a", Some(5), "x"))), Seq("+a 1 5 x"))
    assertEquals(withSigns(top(row("a", Some(7), "y"))), Seq("<a 1 5 x", ">a 1 7 y", "+a 2 5 x"))
    assertEquals(withSigns(top(row("a", Some(4), "z"))), Nil)
    assertEquals(
      withSigns(top(row("a", Some(6), "w"), row("b", Some(1), "v"))), Seq("<a 2 5 x", ">a 2 6 w", "+b 1 1 v"))
  }

  test("of equal rows the earlier ones are first") {
    val top = topN(1)
    top(row("a", Some(5), "x"))
    assertEquals(top(row("a", Some(5), "y")), Nil)
  }

  test("nulls are where the order puts them") {
    def first(order: String) = topN(1, order = order)(row("a", None, "null"), row("a", Some(5), "x")).head
    assertEquals(first("desc"), "a 1 5 x insert")
    assertEquals(first("desc nulls first"), "a 1 - null insert")
    assertEquals(first("asc"), "a 1 - null insert")
    assertEquals(first("asc nulls last"), "a 1 5 x insert")
  }

  test("a micro-batch emits its net effect") {
    assertEquals(withSigns(topN(1)(row("a", Some(1), "x"), row("a", Some(2), "y"), row("a", Some(3), "z"))),
      Seq("+a 1 3 z"))
  }

  test("rows behind the first ones move up when one of those is removed") {
    val top = topN(2, changelog = true)
    top(change("a", 5, "x", "insert"), change("a", 4, "y", "insert"), change("a", 3, "z", "insert"))
    assertEquals(
      withSigns(top(change("a", 5, "x", "delete"))), Seq("<a 1 5 x", ">a 1 4 y", "<a 2 4 y", ">a 2 3 z"))
    assertEquals(withSigns(top(change("a", 3, "z", "delete"))), Seq("-a 2 3 z"))
    assertEquals(withSigns(top(change("a", 9, "?", "delete"))), Nil)
    assertEquals(withSigns(top(change("a", 4, "y", "delete"))), Seq("-a 1 4 y"))
    assertEquals(top.keys, 0)
  }

  test("new rows displace a ranked one in the micro-batch that removes another") {
    val top = topN(2, changelog = true)
    top(Seq(5, 3, 1, 0).map(v => change("a", v, s"v$v", "insert")): _*)
    val changes =
      top(change("a", 5, "v5", "delete"), change("a", 9, "x", "insert"), change("a", 8, "y", "insert"))
    assertEquals(withSigns(changes), Seq("<a 1 5 v5", ">a 1 9 x", "<a 2 3 v3", ">a 2 8 y"))
  }

  test("random changes give the first rows of a sorted list") {
    val random = new Random(3)
    (1 to 60).foreach { _ =>
      val top = topN(3, changelog = true)
      var (table, results) = (Seq.empty[(String, Int, String)], Seq.empty[String])
      (1 to 12).foreach { batch =>
        val changes = Seq.tabulate(random.nextInt(5)) { i =>
          if (table.nonEmpty && random.nextInt(3) == 0) {
            val (k, v, id) = table(random.nextInt(table.size))
            table = table.filterNot(_ == ((k, v, id)))
            change(k, v, id, "delete")
          } else {
            val (k, v, id) = (Seq("a", "b")(random.nextInt(2)), random.nextInt(1000), s"$batch.$i")
            table :+= ((k, v, id))
            change(k, v, id, "insert")
          }
        }
        results ++= withSigns(top(changes: _*))
        val expected = table.groupBy(_._1).toSeq.flatMap { case (k, rows) =>
          rows.sortBy(row => -row._2).take(3).zipWithIndex.map { case ((_, v, id), i) =>
            s"$k ${i + 1} $v $id"
          }
        }
        assertEquals(remaining(results), expected.sorted)
      }
    }
  }

  test("with ties, equal rows have the same rank and all of them are kept") {
    def rows = Seq(("x", 5), ("y", 5), ("z", 4), ("w", 3)).map { case (id, v) => row("a", Some(v), id) }
    assertEquals(withSigns(topN(2, ties = "rank")(rows: _*)), Seq("+a 1 5 x", "+a 1 5 y"))
    assertEquals(withSigns(topN(2, ties = "dense_rank")(rows: _*)), Seq("+a 1 5 x", "+a 1 5 y", "+a 2 4 z"))
  }

  test("random changes give the first ranks of a sorted list") {
    val random = new Random(5)
    for (ties <- Seq("rank", "dense_rank"); _ <- 1 to 40) {
      val top = topN(3, changelog = true, ties = ties)
      var (table, results) = (Seq.empty[(Int, String)], Seq.empty[String])
      (1 to 12).foreach { batch =>
        val changes = Seq.tabulate(random.nextInt(5)) { i =>
          val gone = table.nonEmpty && random.nextInt(3) == 0
          val (v, id) = if (gone) table(random.nextInt(table.size)) else (random.nextInt(5), s"$batch.$i")
          table = if (gone) table.filterNot(_._2 == id) else table :+ ((v, id))
          change("a", v, id, if (gone) "delete" else "insert")
        }
        results ++= withSigns(top(changes: _*))
        val expected = table.flatMap { case (v, id) =>
          val better = table.map(_._1).filter(_ > v)
          val rank = 1 + (if (ties == "rank") better.size else better.distinct.size)
          if (rank <= 3) Some(s"a $rank $v $id") else None
        }
        assertEquals(remaining(results), expected.sorted)
      }
    }
  }
}
