package org.apache.spark.sql.headrace.analytics

import com.esotericsoftware.kryo.io.{Input, Output}
import org.apache.commons.math3.special.Erf

/** Detectors that assume a normal distribution: distance from a mean, in standard deviations. */
object Normal {
  /** Probability that a normal value is nearer to the mean. */
  def within(z: Double): Double = Erf.erf(z / math.sqrt(2))

  /** Judges a value by a mean and a standard deviation. */
  def judge(value: Double, mean: Double, deviation: Double, limit: Double, into: Verdict): Unit = {
    val distance = math.abs(value - mean)
    into.score = if (distance == 0) 0.0 else within(distance / deviation)
    into.compare(value, mean, mean - limit * deviation, mean + limit * deviation)
  }
}

/** Mean and standard deviation of all earlier rows, or of the last ones. */
final class ZScore(limit: Double, size: Int) extends Detector {
  override def create(): DetectorState = if (size > 0) new WindowedState else new RunningState

  private final class RunningState extends DetectorState {
    private var count = 0L
    private var mean, squares = 0.0

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit =
      if (count < 2) into.score = 0
      else Normal.judge(values(0), mean, math.sqrt(squares / count), limit, into)

    override def learn(values: Array[Double], time: Long): Unit = {
      count += 1
      val d = values(0) - mean
      mean += d / count
      squares += d * (values(0) - mean)
    }

    override def write(out: Output): Unit = {
      out.writeVarLong(count, true)
      out.writeDouble(mean)
      out.writeDouble(squares)
    }

    override def read(in: Input): Unit = {
      count = in.readVarLong(true)
      mean = in.readDouble()
      squares = in.readDouble()
    }
  }

  private final class WindowedState extends DetectorState {
    private val recent = new RecentValues(size)

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit =
      if (recent.count < 2) into.score = 0
      else {
        val mean = recent.mean
        Normal.judge(values(0), mean, recent.deviation(mean), limit, into)
      }

    override def learn(values: Array[Double], time: Long): Unit = recent.add(values(0))
    override def write(out: Output): Unit = recent.write(out)
    override def read(in: Input): Unit = recent.read(in)
  }
}

/** Exponentially weighted mean and variance. The first rows have equal weights. */
final class MovingMoments {
  private var count = 0L
  var mean, variance = 0.0

  def rows: Long = count

  /** @param alpha the weight of this row, once there are enough rows */
  def add(value: Double, alpha: Double): Unit = {
    count += 1
    val (a, d) = (math.max(alpha, 1.0 / count), value - mean)
    mean += a * d
    variance = (1 - a) * (variance + a * d * d)
  }

  def write(out: Output): Unit = {
    out.writeVarLong(count, true)
    out.writeDouble(mean)
    out.writeDouble(variance)
  }

  def read(in: Input): Unit = {
    count = in.readVarLong(true)
    mean = in.readDouble()
    variance = in.readDouble()
  }
}

final class Ewma(alpha: Double, limit: Double) extends Detector {
  override def create(): DetectorState = new DetectorState {
    private val moments = new MovingMoments

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit =
      if (moments.rows < 2) into.score = 0
      else Normal.judge(values(0), moments.mean, math.sqrt(moments.variance), limit, into)

    override def learn(values: Array[Double], time: Long): Unit = moments.add(values(0), alpha)
    override def write(out: Output): Unit = moments.write(out)
    override def read(in: Input): Unit = moments.read(in)
  }
}

/**
 * The Windowed Gaussian detector of the Numenta Anomaly Benchmark: the tail probability of a value under the
 * mean and the deviation of a window that moves in steps. Its score is at least 0.5.
 */
final class WindowedGaussian(size: Int, step: Int, limit: Double) extends Detector {
  override def create(): DetectorState = new DetectorState {
    private val window = new RecentValues(size)
    private val waiting = new RecentValues(step)
    private var mean, deviation = 0.0

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit =
      if (window.count == 0) into.score = 0
      else {
        Normal.judge(values(0), mean, deviation, limit, into)
        into.score = 1 - 0.5 * Erf.erfc(math.abs(values(0) - mean) / deviation / math.sqrt(2))
      }

    override def learn(values: Array[Double], time: Long): Unit =
      if (!window.isFull) {
        window.add(values(0))
        update()
      } else {
        waiting.add(values(0))
        if (waiting.isFull) {
          waiting.toArray.foreach(window.add)
          waiting.clear()
          update()
        }
      }

    override def write(out: Output): Unit = {
      window.write(out)
      waiting.write(out)
    }

    override def read(in: Input): Unit = {
      window.read(in)
      waiting.read(in)
      if (window.count > 0) update()
    }

    private def update(): Unit = {
      mean = window.mean
      deviation = window.deviation(mean)
      if (deviation == 0) deviation = 1e-6 // as in the benchmark, whose scores are compared
    }
  }
}
