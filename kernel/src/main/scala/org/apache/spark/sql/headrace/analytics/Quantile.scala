package org.apache.spark.sql.headrace.analytics

import java.util.Arrays

import com.esotericsoftware.kryo.io.{Input, Output}

/** Values beyond a quantile of all earlier ones, by a t-digest. */
final class Quantile(q: Double, sides: String) extends Detector {
  override def create(): DetectorState = new DetectorState {
    private val sketch = new QuantileSketch(Quantile.Compression)

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit =
      if (sketch.count == 0) into.score = 0
      else {
        val rank = sketch.rank(values(0))
        into.score = sides match {
          case "high" => rank
          case "low" => 1 - rank
          case _ => math.abs(2 * rank - 1)
        }
        val low = if (sides == "high") Double.NaN else sketch.quantile(1 - q)
        val high = if (sides == "low") Double.NaN else sketch.quantile(q)
        into.compare(values(0), sketch.quantile(0.5), low, high)
      }

    override def learn(values: Array[Double], time: Long): Unit = sketch.add(values(0))
    override def write(out: Output): Unit = sketch.write(out)
    override def read(in: Input): Unit = sketch.read(in)
  }
}

object Quantile {
  val Compression = 100.0
}

/** Distance from the median of the last values, in median absolute deviations scaled to a normal distribution. */
final class Mad(size: Int, limit: Double) extends Detector {
  override def create(): DetectorState = new DetectorState {
    private val recent = new RecentValues(size)

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit =
      if (recent.count < 2) into.score = 0
      else {
        val sorted = recent.toArray
        Arrays.sort(sorted)
        val median = Mad.median(sorted)
        val distances = sorted.map(value => math.abs(value - median))
        Arrays.sort(distances)
        Normal.judge(values(0), median, Mad.Scale * Mad.median(distances), limit, into)
      }

    override def learn(values: Array[Double], time: Long): Unit = recent.add(values(0))
    override def write(out: Output): Unit = recent.write(out)
    override def read(in: Input): Unit = recent.read(in)
  }
}

object Mad {
  /** The standard deviation of a normal distribution, in median absolute deviations. */
  val Scale = 1.4826

  def median(sorted: Array[Double]): Double = {
    val half = sorted.length / 2
    if (sorted.length % 2 == 1) sorted(half) else (sorted(half - 1) + sorted(half)) / 2
  }
}
