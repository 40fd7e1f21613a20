package org.apache.spark.sql.headrace.analytics

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

/**
 * The Page-Hinkley test: the mean has moved if the sum of the differences from the earlier mean rises by more
 * than `limit` above its minimum, or falls by as much below its maximum. A drift starts a new mean.
 *
 * @param tolerance the change per row that is no drift
 */
final class PageHinkley(tolerance: Double, limit: Double) extends Detector {
  override def create(): DetectorState = new DetectorState {
    private var count = 0L
    private var mean, up, down = 0.0
    private var drifted = false

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit = {
      val (value, usual) = (values(0), mean)
      into.expected = if (count == 0) Double.NaN else usual
      val difference = if (count == 0) 0.0 else value - usual
      up = math.max(0, up + difference - tolerance)
      down = math.max(0, down - difference - tolerance)
      val moved = math.max(up, down)
      into.score = moved / (moved + limit)
      drifted = moved > limit
      if (drifted && !into.warming) {
        val direction = if (up > down) "above" else "below"
        into.flag(s"the values have drifted $direction their mean ${Verdict.text(usual)}")
      }
    }

    override def learn(values: Array[Double], time: Long): Unit = {
      if (drifted) {
        count = 0
        mean = 0
        up = 0
        down = 0
        drifted = false
      }
      count += 1
      mean += (values(0) - mean) / count
    }

    override def write(out: Output): Unit = {
      out.writeVarLong(count, true)
      Seq(mean, up, down).foreach(out.writeDouble)
    }

    override def read(in: Input): Unit = {
      count = in.readVarLong(true)
      mean = in.readDouble()
      up = in.readDouble()
      down = in.readDouble()
    }
  }
}

/**
 * ADWIN: a window of values that drops its older part when the means of both parts differ by more than chance
 * allows at the confidence `delta`. The values are in buckets of powers of two, so the state is logarithmic.
 */
final class Adwin(delta: Double) extends Detector {
  import Adwin._

  override def create(): DetectorState = new DetectorState {
    /** Oldest first; sizes never increase. */
    private val buckets = mutable.ArrayDeque.empty[Bucket]

    /** Judged with this row in the window, as a drift is a property of all rows up to it. */
    override def judge(values: Array[Double], time: Long, into: Verdict): Unit = {
      val before = count
      into.expected = if (before == 0) Double.NaN else buckets.iterator.map(_.sum).sum / before
      add(values(0))
      val dropped = shrink()
      into.score = if (dropped > 0) 1 else 0
      if (dropped > 0 && !into.warming) into
        .flag(s"the mean has drifted from ${Verdict.text(into.expected)}: $dropped rows are outdated")
    }

    override def learn(values: Array[Double], time: Long): Unit = ()

    private def count: Long = buckets.iterator.map(_.size).sum

    private def add(value: Double): Unit = {
      buckets += new Bucket(1, value, 0)
      var (size, end) = (1L, buckets.length)
      var merged = true
      while (merged) {
        val first = buckets.indexWhere(_.size == size)
        merged = first >= 0 && end - first > PerSize
        if (merged) {
          buckets(first) = buckets(first).join(buckets(first + 1))
          buckets.remove(first + 1)
          end = first + 1
          size *= 2
        }
      }
    }

    /** Drops outdated buckets and returns the number of their rows. */
    private def shrink(): Long = {
      var dropped = 0L
      while (isOutdated) dropped += buckets.removeHead().size
      dropped
    }

    private def isOutdated: Boolean = {
      val whole = buckets.reduce(_.join(_))
      val (n, variance) = (whole.size.toDouble, whole.squares / whole.size)
      val confidence = math.log(2 * math.log(n) / delta)
      var (old, at, outdated) = (0.0, 0, false)
      var oldSum = 0.0
      while (at < buckets.length - 1 && !outdated && n >= MinRows) {
        old += buckets(at).size
        oldSum += buckets(at).sum
        val recent = n - old
        if (old >= MinPart && recent >= MinPart) {
          val harmonic = 1 / (1 / (old - MinPart + 1) + 1 / (recent - MinPart + 1))
          val bound = math.sqrt(2 / harmonic * variance * confidence) + 2.0 / 3 / harmonic * confidence
          outdated = math.abs(oldSum / old - (whole.sum - oldSum) / recent) > bound
        }
        at += 1
      }
      outdated
    }

    override def write(out: Output): Unit = {
      out.writeVarInt(buckets.length, true)
      buckets.foreach { bucket =>
        out.writeVarLong(bucket.size, true)
        out.writeDouble(bucket.sum)
        out.writeDouble(bucket.squares)
      }
    }

    override def read(in: Input): Unit = (0 until in.readVarInt(true))
      .foreach(_ => buckets += new Bucket(in.readVarLong(true), in.readDouble(), in.readDouble()))
  }
}

private object Adwin {
  val PerSize = 5
  val MinRows = 32
  val MinPart = 5

  /** @param squares the sum of the squared differences from the mean */
  final class Bucket(val size: Long, val sum: Double, val squares: Double) {
    def join(other: Bucket): Bucket = {
      val d = sum / size - other.sum / other.size
      val between = d * d * size.toDouble * other.size / (size + other.size)
      new Bucket(size + other.size, sum + other.sum, squares + other.squares + between)
    }
  }
}
