package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.Column
import org.apache.spark.sql.functions.{count, expr, lit}
import org.apache.spark.sql.headrace.operators.keyed.StepRun

/** Windowed steps over rows `(k, v, ts)`, which show key, bounds, values and pane. */
object WindowRun {
  private val All = Seq(expr("array_join(collect_list(v), '')").as("vs"))

  /**
   * @param window the window as JSON
   * @param more further members of the declaration
   * @param lateness seconds; late panes fire after each row
   */
  def apply(window: String, mode: String = "accumulating", lateness: Int = 0, trigger: String = "",
      more: String = "", columns: String = "k string, v string, __ts timestamp",
      aggregates: Seq[Column] = All, main: String = "k window vs pane.index pane.timing"): StepRun = {
    val late = if (lateness > 0) """"late": {"after_count": 1}""" else ""
    val fires = if (trigger.isEmpty) s"""{"after_watermark": {$late}}""" else trigger
    val frame = StepRun.frame(columns)
    val step = WindowStep(
      frame, frame.groupBy("k").agg(aggregates.head, aggregates.tail: _*),
      s"""{"window": $window, "mode": "$mode", "lateness": ${lateness * 1000000L}, "trigger": $fires$more}""")
    new StepRun(step, "main" -> main, "late" -> "v window reason")
  }

  val Count: Seq[Column] = Seq(count(lit(1)).as("n"))
}
