package org.apache.spark.sql.headrace.joins

import scala.util.Random

import org.apache.spark.sql.headrace.operators.keyed.StepRun

class IntervalJoinSuite extends munit.FunSuite {
  import JoinRun.{onLeft, onRight}

  private def join(how: String, lower: Int, upper: Int, where: String = "", more: String = ""): StepRun =
    JoinRun(s""""how": "$how", "lower": ${lower * 1000000L}, "upper": ${upper * 1000000L}$more""", where)

  test("both bounds are inclusive") {
    val pairs = join("inner", -2, 3)
    pairs(onLeft("a", "x", 10))
    assertEquals(pairs(onRight("a", "1", 7.999999), onRight("a", "2", 8), onRight("a", "3", 13),
        onRight("a", "4", 13.000001)), Seq("x 2 10", "x 3 13"))
  }

  test("a pair is emitted with its second row, whichever side that is, at the later time") {
    val pairs = join("inner", -5, 5)
    assertEquals(pairs(onRight("a", "1", 4)), Nil)
    assertEquals(pairs(onLeft("a", "x", 3)), Seq("x 1 4"))
    assertEquals(pairs(onLeft("a", "y", 6), onRight("b", "2", 6)), Seq("y 1 6"))
  }

  test("the kinds of joins") {
    def results(how: String): Seq[String] = {
      val rows = join(how, 0, 0)
      rows(onLeft("a", "x", 1), onRight("a", "1", 1), onRight("a", "2", 1)) ++
        rows(onLeft("b", "y", 1), onRight("c", "3", 1)) ++ rows.end()
    }
    val pairs = Seq("x 1 1", "x 2 1")
    assertEquals(results("inner"), pairs)
    assertEquals(results("left"), pairs :+ "y - 1")
    assertEquals(results("right"), pairs :+ "- 3 1")
    assertEquals(results("full"), pairs ++ Seq("y - 1", "- 3 1"))
    assertEquals(results("semi"), Seq("x - 1"))
    assertEquals(results("anti"), Seq("y - 1"))
  }

  test("a semi join emits a left row once, in the micro-batch of its first partner") {
    val rows = join("semi", -5, 5)
    assertEquals(rows(onLeft("a", "x", 1)), Nil)
    assertEquals(rows(onRight("a", "1", 2)), Seq("x - 1"))
    assertEquals(rows(onRight("a", "2", 2)), Nil)
    assertEquals(rows(onLeft("a", "y", 3)), Seq("y - 3"))
  }

  test("an unmatched row is emitted when the watermark has passed its last possible partner") {
    val rows = join("full", -2, 3)
    rows(onLeft("a", "x", 10), onRight("a", "1", 20))
    assertEquals(rows.at(13)(), Nil)
    assertEquals(rows.at(13.001)(), Seq("x - 10"))
    assertEquals(rows.at(22)(), Nil)
    assertEquals(rows.at(22.001)(), Seq("- 1 20"))
  }

  test("a row leaves the state when no partner can arrive, bucket by bucket") {
    val rows = join("inner", -2, 3)
    rows(onLeft("a", "x", 10))
    rows.at(10)()
    assertEquals((rows.keys, rows.count("buffered")), (1, 1L))
    rows.at(30)()
    assertEquals((rows.keys, rows.count("buffered"), rows.count("unmatched")), (0, 0L, 1L))
  }

  test("a row behind the watermark is late, one at the watermark is not") {
    val rows = join("left", 0, 0)
    assertEquals(rows.at(10)(onLeft("a", "x", 9.999), onRight("a", "1", 10)), Seq("late: too_late"))
    assertEquals(rows(onLeft("a", "y", 10)), Seq("y 1 10"))
    assertEquals(rows((("a", "z"), None, "a", None)), Seq("late: no_event_time"))
  }

  test("a null key matches nothing") {
    def results(how: String): Seq[String] = {
      val rows = join(how, -5, 5)
      rows(onLeft(null, "x", 1), onRight(null, "1", 1)) ++ rows.end()
    }
    assertEquals(results("inner"), Nil)
    assertEquals(results("semi"), Nil)
    assertEquals(results("anti"), Seq("x - 1"))
    assertEquals(results("full").toSet, Set("x - 1", "- 1 1"))
  }

  test("a pair for which the condition is false or null is none") {
    val rows = join("left", -5, 5, where = "left.v <= right.v")
    assertEquals(rows(onLeft("a", "2", 1), onRight("a", "1", 1), onRight("a", null, 1), onRight("a", "2", 1)),
      Seq("2 2 1"))
    val unmatched = join("left", 0, 0, where = "left.v <= right.v")
    unmatched(onLeft("a", "2", 1), onRight("a", "1", 1))
    assertEquals(unmatched.end(), Seq("2 - 1"))
  }

  test("with a clock no row is late") {
    val rows = join("inner", -5, 5, more = """, "time": "clock"""")
    assertEquals(rows.clock(60)(onLeft("a", "x", 57), onRight("a", "1", 58)), Seq("x 1 58"))
  }

  test("random rows give the pairs of two nested loops") {
    val random = new Random(5)
    for (how <- Seq("inner", "left", "right", "full", "semi", "anti"); _ <- 1 to 12) {
      val (lower, upper) = (random.nextInt(8) - 5, random.nextInt(4) + 3)
      val rows = Seq.tabulate(30)(i =>
        (random.nextBoolean(), Seq("a", "b", null)(random.nextInt(3)), i.toString, random.nextInt(40)))
      val run = join(how, lower, upper)
      val results = rows.grouped(7).flatMap { batch =>
        run(batch.map { case (isLeft, k, v, t) => if (isLeft) onLeft(k, v, t) else onRight(k, v, t) }: _*)
      }.toVector ++ run.at(20)() ++ run.end()
      assertEquals(results.sorted, naive(how, lower, upper, rows).sorted, s"$how [$lower, $upper]")
      assertEquals((run.keys, run.count("buffered")), (0, 0L))
      assertEquals(run.count("processed") + run.count("unmatched"), rows.size.toLong)
    }
  }

  private type Row = (Boolean, String, String, Int)

  private def naive(how: String, lower: Int, upper: Int, rows: Seq[Row]): Seq[String] = {
    val (lefts, rights) = rows.partition(_._1)
    def pair(l: Row, r: Row) = l._2 != null && l._2 == r._2 && r._4 - l._4 >= lower && r._4 - l._4 <= upper
    val pairs = for (l <- lefts; r <- rights if pair(l, r)) yield s"${l._3} ${r._3} ${math.max(l._4, r._4)}"
    val (matched, aloneLeft) = lefts.partition(l => rights.exists(pair(l, _)))
    val aloneRight = rights.filterNot(r => lefts.exists(pair(_, r)))
    def only(rows: Seq[Row]) = rows.map(l => s"${l._3} - ${l._4}")
    how match {
      case "semi" => only(matched)
      case "anti" => only(aloneLeft)
      case _ => pairs ++ (if (Set("left", "full")(how)) only(aloneLeft) else Nil) ++
          (if (Set("right", "full")(how)) aloneRight.map(r => s"- ${r._3} ${r._4}") else Nil)
    }
  }
}
