package org.apache.spark.sql.headrace.analytics

import com.esotericsoftware.kryo.io.{Input, Output}

/**
 * Ranks of several features among those of earlier rows.
 *
 * The features are the exponentially weighted level of the values and of their absolute changes, at several
 * time scales. Each is compared with its own mean and variance, and its distance is ranked among earlier
 * distances: `p` is the share of earlier rows that were at least as far. The sum of `-log p` over the
 * features is ranked once more, so that the score is the share of earlier rows that were less unusual, the
 * same for every key. The ranks are histograms of logarithms, so the state has a fixed size.
 *
 * @param scales in rows, ascending; changes have all but the longest
 * @param memory the number of rows after which an earlier row counts a third
 * @param rest a score that does not exceed those of this many rows before it is 0: one anomaly, one alarm
 */
final class MultiScale(scales: Array[Int], memory: Double, rest: Int, limit: Double) extends Detector {
  private val features = 2 * scales.length - 1

  override def create(): DetectorState = new DetectorState {
    private var rows = 0L
    private var last = 0.0
    private val levels, changes = new Array[Double](scales.length)
    private val moments = Array.fill(features)(new MovingMoments)
    private val ranks = Array.fill(features + 1)(new Ranks(memory))

    /** Row numbers and scores of the last `rest` rows that no later one exceeds, highest first. */
    private val peaks = new RecentPeaks(rest)

    // Of the row that was judged last, which is learned next.
    private val nextLevels, nextChanges = new Array[Double](scales.length)
    private var surpriseBin = 0
    private var score = 0.0

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit = {
      update(values(0))
      surpriseBin = Ranks.bin(surprise)
      score = if (into.warming) 0.0 else 1 - ranks(features).shareFrom(surpriseBin)
      into.score = if (rest == 0 || score > peaks.highest(rows)) score else 0.0
      into.expected = moments(0).mean
      if (into.score > limit) into.flag(describe(score))
    }

    override def learn(values: Array[Double], time: Long): Unit = {
      peaks.add(rows, score)
      ranks(features).add(surpriseBin)
      var j = 0
      while (j < features) {
        ranks(j).add(Ranks.bin(distance(j)))
        moments(j).add(feature(j), 1 / memory)
        j += 1
      }
      System.arraycopy(nextLevels, 0, levels, 0, scales.length)
      System.arraycopy(nextChanges, 0, changes, 0, scales.length)
      last = values(0)
      rows += 1
    }

    private def describe(score: Double): String = {
      val j = (0 until features).minBy(i => ranks(i).shareFrom(Ranks.bin(distance(i))))
      val kind = if (j < scales.length) "the level" else "the change"
      val scale = scales(j % scales.length)
      val over = if (scale == 1) "" else s" over $scale rows"
      s"more unusual than ${Verdict.text(100 * score)} % of the earlier rows, most of all $kind$over: " +
        s"${Verdict.text(feature(j))}, usually ${Verdict.text(moments(j).mean)}"
    }

    /** Computes the features with this row. */
    private def update(value: Double): Unit = {
      val change = if (rows == 0) 0.0 else math.abs(value - last)
      var k = 0
      while (k < scales.length) {
        val a = math.max(1.0 / scales(k), 1.0 / (rows + 1))
        nextLevels(k) = levels(k) + a * (value - levels(k))
        nextChanges(k) = changes(k) + a * (change - changes(k))
        k += 1
      }
    }

    private def feature(j: Int): Double =
      if (j < scales.length) nextLevels(j) else nextChanges(j - scales.length)

    private def distance(j: Int): Double =
      if (rows == 0) 0.0
      else {
        val m = moments(j)
        math.abs(feature(j) - m.mean) / math.sqrt(m.variance + 1e-12 + 1e-18 * m.mean * m.mean)
      }

    private def surprise: Double = {
      var (j, sum) = (0, 0.0)
      while (j < features) {
        sum -= math.log10(ranks(j).shareFrom(Ranks.bin(distance(j))))
        j += 1
      }
      sum
    }

    override def write(out: Output): Unit = {
      out.writeVarLong(rows, true)
      out.writeDouble(last)
      levels.foreach(out.writeDouble)
      changes.foreach(out.writeDouble)
      moments.foreach(_.write(out))
      ranks.foreach(_.write(out))
      peaks.write(out)
    }

    override def read(in: Input): Unit = {
      rows = in.readVarLong(true)
      last = in.readDouble()
      levels.indices.foreach(k => levels(k) = in.readDouble())
      changes.indices.foreach(k => changes(k) = in.readDouble())
      moments.foreach(_.read(in))
      ranks.foreach(_.read(in))
      peaks.read(in)
    }
  }
}

/** A histogram of logarithms, in which earlier values fade. */
final class Ranks(memory: Double) {
  import Ranks._

  // Instead of fading all bins with every value, the weight of the next one grows.
  private val weights = new Array[Double](Bins)
  private var total = 0.0
  private var weight = 1.0

  /** The share of the values in this bin or above, as if one more were there; never 0. */
  def shareFrom(bin: Int): Double = {
    var (i, sum) = (bin, 0.0)
    while (i < Bins) {
      sum += weights(i)
      i += 1
    }
    (sum / weight + 1) / (total / weight + 1)
  }

  def add(bin: Int): Unit = {
    weight /= 1 - 1 / memory
    weights(bin) += weight
    total += weight
    if (weight > 1e100) rescale()
  }

  def write(out: Output): Unit = {
    weights.foreach { w =>
      out.writeBoolean(w != 0)
      if (w != 0) out.writeDouble(w)
    }
    out.writeDouble(total)
    out.writeDouble(weight)
  }

  def read(in: Input): Unit = {
    weights.indices.foreach(i => weights(i) = if (in.readBoolean()) in.readDouble() else 0.0)
    total = in.readDouble()
    weight = in.readDouble()
  }

  private def rescale(): Unit = {
    weights.indices.foreach(i => weights(i) /= weight)
    total /= weight
    weight = 1.0
  }
}

object Ranks {
  private val Bins = 128
  private val Low = math.log(1e-3)
  private val Span = math.log(1e4) - Low

  def bin(value: Double): Int =
    if (value <= 1e-3) 0 else math.min(Bins - 1, ((math.log(value) - Low) / Span * Bins).toInt)
}

/** The scores of the last rows that no later row has exceeded, highest first. */
final class RecentPeaks(size: Int) {
  private val numbers = scala.collection.mutable.ArrayDeque.empty[Long]
  private val scores = scala.collection.mutable.ArrayDeque.empty[Double]

  /** The highest score of the last rows before this one; -1 without rows. */
  def highest(row: Long): Double = {
    while (numbers.nonEmpty && numbers.head < row - size) removeHead()
    if (scores.isEmpty) -1.0 else scores.head
  }

  def add(row: Long, score: Double): Unit = if (size > 0) {
    highest(row)
    while (scores.nonEmpty && scores.last <= score) {
      scores.removeLast()
      numbers.removeLast()
    }
    numbers += row
    scores += score
  }

  def write(out: Output): Unit = {
    out.writeVarInt(numbers.size, true)
    numbers.foreach(out.writeVarLong(_, true))
    scores.foreach(out.writeDouble)
  }

  def read(in: Input): Unit = {
    val count = in.readVarInt(true)
    (0 until count).foreach(_ => numbers += in.readVarLong(true))
    (0 until count).foreach(_ => scores += in.readDouble())
  }

  private def removeHead(): Unit = {
    numbers.removeHead()
    scores.removeHead()
  }
}
