package org.apache.spark.sql.headrace.analytics

import com.esotericsoftware.kryo.io.{Input, Output}

/**
 * A profile: mean and variance of the values at each hour of the day, or of the week, in UTC.
 *
 * @param hours the length of the period
 * @param alpha the weight of a row in its hour, once there are enough rows
 * @param minRows an hour with fewer rows gives no verdict
 */
final class Seasonal(hours: Int, alpha: Double, limit: Double, minRows: Int) extends Detector {
  override def create(): DetectorState = new DetectorState {
    private val profile = Array.fill(hours)(new MovingMoments)

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit = {
      val usual = profile(slot(time))
      if (usual.rows < minRows) into.score = 0
      else Normal.judge(values(0), usual.mean, math.sqrt(usual.variance), limit, into)
    }

    override def learn(values: Array[Double], time: Long): Unit = profile(slot(time)).add(values(0), alpha)
    override def write(out: Output): Unit = profile.foreach(_.write(out))
    override def read(in: Input): Unit = profile.foreach(_.read(in))

    /** Hours since Thursday, 1970-01-01. */
    private def slot(time: Long): Int = math.floorMod(math.floorDiv(time, Seasonal.Hour), hours.toLong).toInt
  }
}

object Seasonal {
  private val Hour = 3600L * 1000000
}
