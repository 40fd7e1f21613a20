package org.apache.spark.sql.headrace.analytics

import com.esotericsoftware.kryo.io.{Input, Output}

/** Several detectors of the same rows; those without a result for a row do not take part. */
final class Ensemble(detectors: Array[Detector], combine: String) extends Detector {
  override def create(): DetectorState = new DetectorState {
    private val states = detectors.map(_.create())
    private val verdicts = Array.fill(detectors.length)(new Verdict)

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit = {
      states.indices.foreach { i =>
        verdicts(i).clear()
        verdicts(i).warming = into.warming
        states(i).judge(values, time, verdicts(i))
      }
      decide(into)
    }

    override def learn(values: Array[Double], time: Long): Unit = states.foreach(_.learn(values, time))
    override def write(out: Output): Unit = states.foreach(_.write(out))
    override def read(in: Input): Unit = states.foreach(_.read(in))
    override def due: Long = states.iterator.map(_.due).min

    /** The absence of rows is the result of the one detector that waits for them. */
    override def expire(into: Verdict): Unit = states.minBy(_.due).expire(into)

    /** The bounds and the reason are those of the detector with the highest score. */
    private def decide(into: Verdict): Unit = {
      val results = verdicts.filter(!_.score.isNaN)
      if (results.nonEmpty) {
        val alarms = results.count(_.anomalous)
        val decisive = results.maxBy(v => (v.anomalous, v.score))
        into.set(decisive)
        into.score = combine match {
          case "mean" => results.iterator.map(_.score).sum / results.length
          case "min" => results.iterator.map(_.score).min
          case _ => results.iterator.map(_.score).max
        }
        into.anomalous = combine match {
          case "mean" => 2 * alarms > results.length
          case "min" => alarms == results.length
          case _ => alarms > 0
        }
        if (!into.anomalous) into.reason = null
      }
    }
  }
}
