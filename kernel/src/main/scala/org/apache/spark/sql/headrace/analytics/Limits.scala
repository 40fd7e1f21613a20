package org.apache.spark.sql.headrace.analytics

import com.esotericsoftware.kryo.io.{Input, Output}

/**
 * Fixed limits. A value is anomalous from `duration` after it went beyond a limit until it is within the
 * limits again by more than `hysteresis`.
 */
final class Threshold(low: Double, high: Double, hysteresis: Double, duration: Long) extends Detector {
  override def create(): DetectorState = new DetectorState {
    /** The first row beyond the limit; Long.MinValue for none. */
    private var since = Long.MinValue

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit = {
      val value = values(0)
      into.low = low
      into.high = high
      if (value > high || value < low) { if (since == Long.MinValue) since = time }
      else if (value <= high - hysteresis && value >= low + hysteresis) since = Long.MinValue
      if (since == Long.MinValue) into.score = 0
      else if (time - since < duration) into.score = math.max(0.0, (time - since).toDouble / duration) / 2
      else {
        into.score = 1
        into.compare(value, Double.NaN, low, high)
        if (!into.anomalous) into.flag(s"${Verdict.text(value)} is not within the limits by $hysteresis")
      }
    }

    override def learn(values: Array[Double], time: Long): Unit = ()
    override def write(out: Output): Unit = out.writeLong(since)
    override def read(in: Input): Unit = since = in.readLong()
  }
}

/** The change from the last row, per unit of event time. */
final class RateOfChange(limit: Double, per: Long) extends Detector {
  override def create(): DetectorState = new DetectorState {
    private var last = Double.NaN
    private var lastTime = 0L

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit =
      if (last.isNaN) into.score = 0
      else {
        val allowed = limit * math.abs(time - lastTime) / per
        val change = math.abs(values(0) - last)
        into.score = if (change == 0) 0 else change / (change + allowed)
        into.compare(values(0), last, last - allowed, last + allowed)
      }

    override def learn(values: Array[Double], time: Long): Unit = {
      last = values(0)
      lastTime = time
    }

    override def write(out: Output): Unit = {
      out.writeDouble(last)
      out.writeLong(lastTime)
    }

    override def read(in: Input): Unit = {
      last = in.readDouble()
      lastTime = in.readLong()
    }
  }
}

/** The absence of rows: one result each time that event time has passed the last row by `duration`. */
final class Missing(duration: Long) extends Detector {
  override def create(): DetectorState = new DetectorState {
    private var dueAt = Long.MaxValue

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit = into.score = 0
    override def learn(values: Array[Double], time: Long): Unit = dueAt = time + duration
    override def write(out: Output): Unit = out.writeLong(dueAt)
    override def read(in: Input): Unit = dueAt = in.readLong()
    override def due: Long = dueAt

    override def expire(into: Verdict): Unit = {
      into.score = 1
      into.flag(s"no row for ${duration / 1e6} seconds")
      dueAt = Long.MaxValue
    }
  }
}
