package org.apache.spark.sql.headrace.operators.keyed

import org.apache.spark.sql.functions.{count, lit}
import org.apache.spark.sql.headrace.joins.JoinStep
import org.apache.spark.sql.headrace.patterns.MatchStep
import org.apache.spark.sql.headrace.windows.WindowStep

/** A batch of all rows gives the rows of a stream that has ended. */
class KeyedLogicSuite extends munit.FunSuite {
  private val frame = "k string, v string, __ts timestamp"
  private val rows = Seq(("a", "x", 12), ("b", "y", 3), ("a", "y", 14), ("a", "x", 1), ("b", "x", 3))

  private def window(kind: String): KeyedStep = {
    val input = StepRun.frame(frame)
    WindowStep(input, input.groupBy("k").agg(count(lit(1)).as("n")),
      s"""{"window": $kind, "mode": "accumulating", "trigger": {"after_watermark": {}}}""")
  }

  private def pattern: KeyedStep = MatchStep(
    StepRun.frame(frame),
    """{"steps": ["x", "y"], "keys": ["k"],
    |"conditions": ["v = 'x'", "v = 'y'"], "elements": [{"step": 0, "where": 0, "contiguity": "first"},
    |{"step": 1, "where": 1, "contiguity": "followed_by"}], "skip": {"kind": "none"}}""".stripMargin)

  Seq(
    "tumbling" -> """{"kind": "tumbling", "size": 10000000}""",
    "sliding" -> """{"kind": "sliding", "size": 10000000, "every": 5000000}""",
    "session" -> """{"kind": "session", "gap": 5000000}""", "global" -> """{"kind": "global"}""",
    "count" -> """{"kind": "count", "size": 2}""", "trailing" -> """{"kind": "trailing", "size": 10000000}""")
    .foreach { case (name, kind) =>
      test(s"$name windows")(compare(window(kind), s"k window n __ts${if (name == "trailing") " v" else ""}"))
    }

  test("patterns")(compare(pattern, "k x y __ts"))

  test("joins") {
    val sides = StepRun
      .frame("left struct<v: string>, right struct<v: string>, __key0 string, __ts timestamp")
    val declared = """{"how": "full", "lower": -2000000, "upper": 2000000, "keys": ["__key0"]}"""
    val input = rows.map { case (k, v, ts) =>
      if (v == "x") (Tuple1(v), None, k, ts) else (None, Tuple1(v), k, ts)
    }
    compare(JoinStep(sides, null, declared), "left right __ts", input)
  }

  private def compare(step: KeyedStep, columns: String, input: Seq[Product] = rows): Unit = {
    val stream = new StepRun(step, "main" -> columns)
    val results = stream(input: _*) ++ stream.end()
    assertEquals(new StepRun(step, "main" -> columns).batch(input: _*).sorted, results.sorted)
    assert(results.nonEmpty)
  }
}
