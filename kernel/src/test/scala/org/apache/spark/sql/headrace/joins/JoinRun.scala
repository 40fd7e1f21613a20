package org.apache.spark.sql.headrace.joins

import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.headrace.operators.keyed.StepRun

/** Joins over rows `(k, v, ts)`, which show both sides and the event time. */
object JoinRun {
  private val Columns =
    "left struct<k: string, v: string>, right struct<k: string, v: string>, __key0 string, __ts timestamp"

  def apply(declared: String, where: String = "", main: String = "left.v right.v __ts"): StepRun = {
    val frame = StepRun.frame(Columns)
    val conditioned = if (where.isEmpty) null else frame.select("left", "right").select(expr(where))
    new StepRun(JoinStep(frame, conditioned, s"""{$declared, "keys": ["__key0"]}"""), "main" -> main)
  }

  def asOf(declared: String): StepRun = new StepRun(
    AsOfStep(StepRun.frame(Columns), s"""{$declared, "keys": ["__key0"]}"""), "main" -> "left.v right.v __ts")

  def onLeft(k: String, v: String, ts: Double): Product = ((k, v), None, k, ts)
  def onRight(k: String, v: String, ts: Double): Product = (None, (k, v), k, ts)
}
