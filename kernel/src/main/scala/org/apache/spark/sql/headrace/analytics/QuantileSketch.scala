package org.apache.spark.sql.headrace.analytics

import java.util.Arrays

import com.esotericsoftware.kryo.io.{Input, Output}

/**
 * A t-digest: the distribution of many values in a few hundred centroids, most of them in the tails.
 *
 * A centroid at rank q of n values holds at most 4 n q (1 - q) / compression of them, so the error of a rank
 * is about 2 q (1 - q) / compression. There is no random choice: equal rows give equal sketches.
 */
final class QuantileSketch(compression: Double) {
  private var means = new Array[Double](0)
  private var weights = new Array[Double](0)
  private val pending = new Array[Double](QuantileSketch.Pending)
  private var waiting = 0
  private var total = 0.0
  private var min = Double.PositiveInfinity
  private var max = Double.NegativeInfinity

  def count: Double = total + waiting
  def centroids: Int = means.length

  def add(value: Double): Unit = {
    pending(waiting) = value
    waiting += 1
    min = math.min(min, value)
    max = math.max(max, value)
    // A small sketch is merged with every row and is exact.
    if (waiting == pending.length || waiting * 16 > total) merge()
  }

  def add(other: QuantileSketch): Unit = {
    other.merge()
    merge()
    min = math.min(min, other.min)
    max = math.max(max, other.max)
    compress(other.means, other.weights)
  }

  /** The share of values below this one; half of those that are equal count. */
  def rank(value: Double): Double =
    if (total == 0 || value < min) 0
    else if (value > max) 1
    else {
      var (i, below) = (0, interpolateRank(value))
      while (i < waiting) {
        if (pending(i) < value) below += 1 else if (pending(i) == value) below += 0.5
        i += 1
      }
      below / count
    }

  /** The value at a rank from 0 to 1, without the newest values; NaN without values. */
  def quantile(q: Double): Double = {
    if (total == 0) Double.NaN
    else {
      val target = q * total
      var (i, before) = (0, 0.0)
      while (i < means.length && before + weights(i) / 2 < target) {
        before += weights(i)
        i += 1
      }
      // Between the centres of the centroids i - 1 and i; the ends are the smallest and the largest value.
      val (x0, r0) = if (i == 0) (min, 0.0) else (means(i - 1), before - weights(i - 1) / 2)
      val (x1, r1) = if (i == means.length) (max, total) else (means(i), before + weights(i) / 2)
      if (r1 <= r0) x1 else x0 + (x1 - x0) * (target - r0) / (r1 - r0)
    }
  }

  def write(out: Output): Unit = {
    out.writeVarInt(means.length, true)
    means.indices.foreach { i =>
      out.writeDouble(means(i))
      out.writeDouble(weights(i))
    }
    out.writeVarInt(waiting, true)
    (0 until waiting).foreach(i => out.writeDouble(pending(i)))
    out.writeDouble(min)
    out.writeDouble(max)
  }

  def read(in: Input): Unit = {
    val size = in.readVarInt(true)
    means = new Array[Double](size)
    weights = new Array[Double](size)
    total = 0
    (0 until size).foreach { i =>
      means(i) = in.readDouble()
      weights(i) = in.readDouble()
      total += weights(i)
    }
    waiting = in.readVarInt(true)
    (0 until waiting).foreach(i => pending(i) = in.readDouble())
    min = in.readDouble()
    max = in.readDouble()
  }

  private def interpolateRank(value: Double): Double = {
    val at = Arrays.binarySearch(means, value)
    if (at >= 0) {
      var (first, last) = (at, at)
      while (first > 0 && means(first - 1) == value) first -= 1
      while (last < means.length - 1 && means(last + 1) == value) last += 1
      weightBefore(first) + (first to last).map(weights(_)).sum / 2
    } else {
      val next = -at - 1
      val before = weightBefore(next)
      val (x0, r0) = if (next == 0) (min, 0.0) else (means(next - 1), before - weights(next - 1) / 2)
      val (x1, r1) = if (next == means.length) (max, total) else (means(next), before + weights(next) / 2)
      if (x1 <= x0) r0 else r0 + (r1 - r0) * (value - x0) / (x1 - x0)
    }
  }

  private def weightBefore(index: Int): Double = {
    var (i, sum) = (0, 0.0)
    while (i < index) {
      sum += weights(i)
      i += 1
    }
    sum
  }

  /** Moves the pending values into the centroids. */
  private def merge(): Unit = if (waiting > 0) {
    val values = Arrays.copyOf(pending, waiting)
    waiting = 0
    Arrays.sort(values)
    compress(values, Array.fill(values.length)(1.0))
  }

  /** Merges other centroids, in order, with the own ones: neighbours join while they are small enough. */
  private def compress(otherMeans: Array[Double], otherWeights: Array[Double]): Unit = {
    val n = means.length + otherMeans.length
    val (m, w) = (new Array[Double](n), new Array[Double](n))
    total += otherWeights.sum
    var (i, j, size, before) = (0, 0, 0, 0.0)
    while (i < means.length || j < otherMeans.length) {
      val own = j == otherMeans.length || (i < means.length && means(i) <= otherMeans(j))
      val (mean, weight) = if (own) (means(i), weights(i)) else (otherMeans(j), otherWeights(j))
      if (own) i += 1 else j += 1
      val joined = if (size > 0) w(size - 1) + weight else Double.MaxValue
      if (joined <= capacity(before, joined)) {
        w(size - 1) = joined
        m(size - 1) += (mean - m(size - 1)) * weight / joined
      } else {
        if (size > 0) before += w(size - 1)
        m(size) = mean
        w(size) = weight
        size += 1
      }
    }
    means = Arrays.copyOf(m, size)
    weights = Arrays.copyOf(w, size)
  }

  /** The largest weight of a centroid that begins at a rank: the limit at the end that is nearer a tail. */
  private def capacity(before: Double, weight: Double): Double = {
    val (a, b) = (before / total, math.min(1.0, (before + weight) / total))
    4 * total * math.min(a * (1 - a), b * (1 - b)) / compression
  }
}

object QuantileSketch {
  private val Pending = 64
}
