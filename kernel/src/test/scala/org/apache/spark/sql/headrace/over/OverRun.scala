package org.apache.spark.sql.headrace.over

import org.apache.spark.sql.headrace.operators.keyed.StepRun

/** Steps with window functions over rows `(k, v, id)`, which show `id` and the result `r`. */
object OverRun {
  /** A step in event-time order, whose rows have their time at the end; `more` are further order columns. */
  def inOrder(frame: String, function: String, arrival: Boolean = false, ties: Boolean = false): StepRun = {
    val columns = "k string, v int, id string, " + (if (ties) "__order0 int, " else "") + "__ts timestamp"
    val text = s"""{"keys": ["k"], "time": "event", "updating": false, "arrival": $arrival,
         |"order": [${if (ties) "\"asc\"" else ""}], "frame": {$frame}, "columns": {"r": "$function"}}"""
      .stripMargin
    new StepRun(OverStep(StepRun.frame(columns), text), "main" -> "id r", "late" -> "id reason")
  }

  /** A step in the order of `v`, whose rows have `v` again at the end, and with `low` where frames begin. */
  def table(frame: String, function: String, order: String = "asc", low: Boolean = false): StepRun = {
    val columns = "k string, v int, id string, __ts timestamp, __change string, __order0 int" +
      (if (low) ", __low int" else "")
    val text = s"""{"keys": ["k"], "time": "none", "updating": true, "arrival": false,
         |"order": ["$order"], "frame": {$frame}, "columns": {"r": "$function"}}""".stripMargin
    new StepRun(OverStep(StepRun.frame(columns), text), "main" -> "id r __change")
  }

  def rows(preceding: Int): String = s""""kind": "rows", "preceding": $preceding"""
  def seconds(preceding: Int): String = s""""kind": "range", "preceding": ${preceding * 1000000L}"""
  val AllRows: String = """"kind": "rows""""
  val Range: String = """"kind": "range""""
}
