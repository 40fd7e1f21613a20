package org.apache.spark.sql.headrace.analytics

import java.math.{BigDecimal => Decimal, MathContext}

import com.esotericsoftware.kryo.io.{Input, Output}

/** The result of a detector for one row; NaN is null. */
final class Verdict {
  var score, expected, low, high: Double = Double.NaN
  var anomalous: Boolean = false

  /** The condition that decided; null if the row is not anomalous. */
  var reason: String = _

  /** True while the key has fewer rows than the warm-up; set before a detector is called. */
  var warming: Boolean = false

  /** Returns to no result: the score of a row without a value. */
  def clear(): Unit = {
    score = Double.NaN
    expected = Double.NaN
    low = Double.NaN
    high = Double.NaN
    anomalous = false
    reason = null
  }

  /** Sets the expected value and its bounds, and is anomalous if the value is outside. */
  def compare(value: Double, expected: Double, low: Double, high: Double): Unit = {
    this.expected = expected
    this.low = low
    this.high = high
    if (value > high) flag(s"${Verdict.text(value)} is above ${Verdict.text(high)}")
    else if (value < low) flag(s"${Verdict.text(value)} is below ${Verdict.text(low)}")
  }

  def flag(why: String): Unit = {
    anomalous = true
    reason = why
  }

  def set(other: Verdict): Unit = {
    score = other.score
    expected = other.expected
    low = other.low
    high = other.high
    anomalous = other.anomalous
    reason = other.reason
  }
}

object Verdict {
  private val digits = new MathContext(6)

  /** A number with six digits. */
  def text(value: Double): String =
    if (value.isInfinite) value.toString
    else new Decimal(value).round(digits).stripTrailingZeros.toPlainString
}

/** A kind of detector with its options. */
trait Detector extends Serializable {
  /** Creates the state of a key without rows. */
  def create(): DetectorState
}

/** The state of one key. A row is first judged by the earlier rows and then learned. */
trait DetectorState {
  /** Compares a row with the earlier ones. The values are numbers, never NaN or infinite. */
  def judge(values: Array[Double], time: Long, into: Verdict): Unit
  def learn(values: Array[Double], time: Long): Unit
  def write(out: Output): Unit
  def read(in: Input): Unit

  /** Event time at which `expire` must be called without a row; Long.MaxValue for never. */
  def due: Long = Long.MaxValue

  /** Judges the absence of rows up to `due`. Called once for each value of `due`. */
  def expire(into: Verdict): Unit = ()
}

/** Passes some values of a row to a detector, which has no result if one of them is missing. */
final class ObservedValues(at: Array[Int], detector: Detector) extends Detector {
  override def create(): DetectorState = new DetectorState {
    private val inner = detector.create()
    private val own = new Array[Double](at.length)

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit = {
      into.clear()
      if (select(values)) inner.judge(own, time, into)
    }
    override def learn(values: Array[Double], time: Long): Unit = if (select(values)) inner.learn(own, time)
    override def write(out: Output): Unit = inner.write(out)
    override def read(in: Input): Unit = inner.read(in)
    override def due: Long = inner.due
    override def expire(into: Verdict): Unit = inner.expire(into)

    private def select(values: Array[Double]): Boolean = {
      var (i, complete) = (0, true)
      while (i < at.length) {
        own(i) = values(at(i))
        complete &&= !own(i).isNaN && !own(i).isInfinite
        i += 1
      }
      complete
    }
  }
}

/** The last values of a key, oldest first. */
final class RecentValues(size: Int) {
  private var values = new Array[Double](math.min(size, 16))
  private var start = 0
  private var number = 0
  def count: Int = number
  def isFull: Boolean = number == size
  def apply(i: Int): Double = values((start + i) % values.length)

  /** Adds a value and returns the one that it replaces; NaN if there is none. */
  def add(value: Double): Double = {
    if (number == values.length && number < size) grow()
    if (number < size) {
      values((start + number) % values.length) = value
      number += 1
      Double.NaN
    } else {
      val oldest = values(start)
      values(start) = value
      start = (start + 1) % values.length
      oldest
    }
  }

  def clear(): Unit = {
    start = 0
    number = 0
  }

  def toArray: Array[Double] = Array.tabulate(number)(apply)

  def mean: Double = {
    var (i, sum) = (0, 0.0)
    while (i < number) {
      sum += apply(i)
      i += 1
    }
    sum / number
  }

  /** The standard deviation of the values as a population. */
  def deviation(mean: Double): Double = {
    var (i, sum) = (0, 0.0)
    while (i < number) {
      val d = apply(i) - mean
      sum += d * d
      i += 1
    }
    math.sqrt(sum / number)
  }

  def write(out: Output): Unit = {
    out.writeVarInt(number, true)
    var i = 0
    while (i < number) {
      out.writeDouble(apply(i))
      i += 1
    }
  }

  def read(in: Input): Unit = {
    number = in.readVarInt(true)
    start = 0
    values = new Array[Double](math.max(math.min(size, 16), number))
    var i = 0
    while (i < number) {
      values(i) = in.readDouble()
      i += 1
    }
  }

  private def grow(): Unit = {
    val wider = new Array[Double](math.min(size, values.length * 2))
    var i = 0
    while (i < number) {
      wider(i) = apply(i)
      i += 1
    }
    values = wider
    start = 0
  }
}
