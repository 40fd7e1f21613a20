package org.apache.spark.sql.headrace.analytics

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.headrace.operators.keyed.StepRun

/** Detectors over rows `(k, __on0, __on1, ts)`; the state is written and read after every micro-batch. */
class DetectStepSuite extends munit.FunSuite {
  private def step(detector: String, warmUp: Int, order: String): DetectStep = DetectStep(
    StepRun.frame("k string, __on0 double, __on1 double, __ts timestamp"),
    s"""{"keys": ["k"], "order": "$order", "time": "event", "warm_up": $warmUp, "values": 2, "detector": $detector}""")

  private def run(detector: String, shown: String, warmUp: Int = 0, order: String = "arrival"): StepRun =
    new StepRun(step(detector, warmUp, order), "main" -> shown, "late" -> "reason")

  private val values =
    Seq(3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 90, 2, 6, 4, 3, 3, 8)

  private val kinds = Seq(
    """{"kind": "threshold", "at": [0], "high": 4, "hysteresis": 1, "duration": 1000000}""",
    """{"kind": "rate_of_change", "at": [0], "limit": 4, "per": 1000000}""",
    """{"kind": "z_score", "at": [0], "limit": 2}""",
    """{"kind": "z_score", "at": [0], "limit": 2, "rows": 7}""",
    """{"kind": "ewma", "at": [0], "limit": 2, "alpha": 0.2}""",
    """{"kind": "windowed_gaussian", "at": [0], "rows": 9, "step": 4, "limit": 2}""",
    """{"kind": "quantile", "at": [0], "q": 0.9, "side": "both"}""",
    """{"kind": "mad", "at": [0], "rows": 9, "limit": 3}""",
    """{"kind": "seasonal", "at": [0], "per": "week", "alpha": 0.1, "limit": 2, "min_rows": 3}""",
    """{"kind": "page_hinkley", "at": [0], "tolerance": 0.1, "limit": 20}""",
    """{"kind": "adwin", "at": [0], "delta": 0.2}""",
    """{"kind": "half_space_trees", "at": [0, 1], "trees": 5, "height": 4, "rows": 10, "limit": 0.9, "seed": 1}""",
    """{"kind": "multi_scale", "at": [0], "scales": [1, 3], "memory": 20, "rest": 4, "limit": 0.9}""")
  private val ensemble = kinds
    .mkString("""{"kind": "ensemble", "at": [], "combine": "mean", "detectors": [""", ",", "]}")

  for (detector <- kinds :+ ensemble)
    test(s"a row at a time gives the results of a batch: ${detector.take(40)}") {
      val rows = values.zipWithIndex.map { case (v, i) => ("a", v, -v, i) }
      val shown = "score expected low high anomalous reason __ts"
      val (slow, whole) = (run(detector, shown, 5), run(detector, shown, 5))
      val expected = whole(rows: _*)
      assertEquals(rows.flatMap(slow(_)), expected)
      assertEquals(run(detector, shown, 5).batch(rows: _*), expected)
      assert(
        expected.drop(5).exists(_.contains("true")) || detector.contains("adwin"), expected.mkString("\n"))
      assert(expected.take(5).forall(_.startsWith("0.0 - - - false")), expected.mkString("\n"))
    }

  test("ADWIN drops the rows before a drift") {
    val rows = run("""{"kind": "adwin", "at": [0], "delta": 0.01}""", "anomalous reason")
    val flags = rows((0 until 400).map(i => ("a", (if (i < 200) 1.0 else 9.0) + i % 3, 0.0, i)): _*)
    val drifts = flags.indices.filter(flags(_).startsWith("true"))
    assert(drifts.nonEmpty && drifts.head > 200 && drifts.head < 215, drifts.toString)
  }

  test("multi_scale reports a jump once, and hardly ever a repeated pattern") {
    val rows = run(
      """{"kind": "multi_scale", "at": [0], "scales": [1, 5, 20], "memory": 10000, "rest": 100, "limit": 0.997}""",
      "anomalous __ts", 100)
    val flags = rows((0 until 1000).map(i => ("a", (i % 10) + (if (i >= 800) 40.0 else 0.0), 0.0, i)): _*)
    val alarms = flags.filter(_.startsWith("true")).map(_.drop(5).toInt)
    assert(alarms.contains(800) && alarms.count(_ >= 800) <= 3 && alarms.count(_ < 800) <= 3, alarms.toString)
  }

  test("half-space trees find a row that is usual in each column alone") {
    val rows = run(
      """{"kind": "half_space_trees", "at": [0, 1], "trees": 25, "height": 6, "rows": 100, "limit": 0.99, "seed": 0}""",
      "score")
    val scores = rows((0 until 1000).map { i =>
      val x = (i * 37 % 100) / 100.0
      ("a", x, if (i == 900) 1 - x else x, i)
    }: _*).map(_.toDouble)
    val other = scores.zipWithIndex.drop(200).filter(_._2 != 900).map(_._1)
    assert(scores.take(100).forall(_ == 0))
    assert(scores(900) > other.sum / other.size, s"${scores(900)} ${other.sum / other.size}")
  }

  private val distributions: Seq[(String, Int => Double)] = {
    val random = new java.util.SplittableRandom(7)
    Seq(
      "uniform" -> (_ => random.nextDouble()), "normal" -> (_ => random.nextGaussian()),
      "exponential" -> (_ => -math.log(1 - random.nextDouble())), "ascending" -> (i => i.toDouble),
      "few values" -> (_ => random.nextInt(5).toDouble))
  }

  for ((name, next) <- distributions) test(s"the ranks of a sketch are within its bound: $name") {
    val n = 50000
    val sample = Array.tabulate(n)(next)
    val parts = sample.grouped(n / 4).toSeq.map { values =>
      val sketch = new QuantileSketch(Quantile.Compression)
      values.foreach(sketch.add)
      val out = new Output(1024, -1)
      sketch.write(out)
      val copy = new QuantileSketch(Quantile.Compression)
      copy.read(new Input(out.toBytes))
      copy
    }
    val merged = parts.reduce { (a, b) =>
      a.add(b)
      a
    }
    assert(merged.centroids < 700, merged.centroids.toString)
    val sorted = sample.sorted
    for (q <- Seq(0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999)) {
      val value = merged.quantile(q)
      // Equal values have a range of ranks; the sketch may return a value between two neighbours.
      val low = sorted.indexWhere(_ >= value).toDouble / n
      val high = (n - sorted.reverseIterator.indexWhere(_ <= value)).toDouble / n
      val error = if (q < low) low - q else if (q > high) q - high else 0.0
      val bound = 4 * q * (1 - q) / Quantile.Compression + 2.0 / n
      assert(error <= bound, s"$name $q: $value has rank $low to $high, bound $bound")
      assert(
        math.abs(merged.rank(sorted((q * n).toInt)) - q) <=
          bound +
          0.5 *
          (name match {
            case "few values" => 0.2
            case _ => 0
          }), s"$name: rank at $q is ${merged.rank(sorted((q * n).toInt))}")
    }
  }
}
