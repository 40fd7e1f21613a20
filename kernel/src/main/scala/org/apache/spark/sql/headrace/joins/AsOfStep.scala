package org.apache.spark.sql.headrace.joins

import com.fasterxml.jackson.databind.ObjectMapper

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.headrace.operators.StepTime
import org.apache.spark.sql.headrace.operators.keyed.StepColumns
import org.apache.spark.sql.headrace.operators.inorder.{InOrderStep, Matcher}
import org.apache.spark.sql.{Dataset, Row}

/** Where an as-of join looks for the partner of a left row. */
object Direction extends Enumeration {
  val Backward, Forward, Nearest = Value
}

/**
 * An as-of join as declared by Python.
 *
 * @param tolerance the greatest distance of a partner, in microseconds; Long.MaxValue for none
 * @param emitsUnmatched true to emit left rows without a partner
 */
final case class AsOfSpec(direction: Direction.Value, tolerance: Long, emitsUnmatched: Boolean,
    keys: Seq[String], clockTime: Boolean)

/** An as-of join: rows of both sides in event-time order, each left row with the closest right row. */
final class AsOfStep(val spec: AsOfSpec, val columns: StepColumns) extends InOrderStep {
  override def arrival: Boolean = false
  override def time: StepTime.Value = StepTime.of(spec.clockTime)
  override lazy val fingerprint: Int = Seq(spec.direction, spec.tolerance, columns.output.sql).toString
    .hashCode
  override def matcher(): Matcher = new AsOfMatcher(spec, new Pairs(columns, None))
}

object AsOfStep {
  private val json = new ObjectMapper

  /** Creates a step; see `JoinStep`. */
  def apply(frame: Dataset[Row], text: String): AsOfStep = {
    val tree = json.readTree(text)
    val spec = AsOfSpec(
      Direction.withName(tree.get("direction").asText.capitalize),
      if (tree.hasNonNull("tolerance")) tree.get("tolerance").asLong else Long.MaxValue,
      emitsUnmatched = tree.get("how").asText == "left",
      tree.get("keys").elements.asScala.map(_.asText).toVector, tree.path("time").asText == "clock")
    new AsOfStep(spec, Pairs.columns(frame, spec.keys))
  }
}
