package org.apache.spark.sql.headrace.tables

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.headrace.operators.keyed.StepRun

/** Table steps, which show their rows and the kind of change. */
object TableRun {
  private val Short = Map("insert" -> "+", "delete" -> "-", "update_before" -> "<", "update_after" -> ">")

  /** Puts a sign for the change, the last value of each row, before the row. */
  def withSigns(rows: Seq[String]): Seq[String] = rows.map { row =>
    val values = row.split(' ')
    Short.get(values.last).fold(row)(sign => s"$sign${values.init.mkString(" ")}")
  }

  /** The rows that remain after changes. */
  def remaining(rows: Seq[String]): Seq[String] = rows.foldLeft(Seq.empty[String]) { (table, row) =>
    if (row.head == '+' || row.head == '>') table :+ row.tail else table.diff(Seq(row.tail))
  }.sorted

  def latest(more: String = ""): StepRun = new StepRun(
    LatestStep(StepRun.frame("k string, v string, __delete boolean, __ts timestamp"),
      s"""{"keys": ["k"], "time": "event"$more}"""), "main" -> "k v __change",
    "versions" -> "k v __deleted __sequence __ts")

  def topN(n: Int, changelog: Boolean = false, order: String = "desc", ties: String = "rows"): StepRun =
    new StepRun(
      TopNStep(
        StepRun.frame("k string, v int, id string, __order0 int, __ts timestamp" +
          (if (changelog) ", __change string" else "")),
        s"""{"keys": ["k"], "time": "none", "n": $n, "order": ["$order"], "ties": "$ties"}"""),
      "main" -> "k rank v id __change")

  /** A join by `__key0`; `identity` is a column of the left side. */
  def join(at: String, how: String = "inner", where: String = null, more: String = ""): StepRun = {
    val label = if (at == "event_time") "__deleted boolean, __sequence bigint" else "__right_change string"
    val frame = StepRun.frame("id string, __key0 string, __ts timestamp, __change string, " +
      s"__right struct<__right_v: string, __ts: timestamp>, $label")
    val declared = s"""{"keys": ["__key0"], "time": "event", "at": "$at", "how": "$how"$more}"""
    val shown = if (Set("semi", "anti").contains(how)) "id" else "id __right_v"
    new StepRun(TableJoinStep(frame, condition(where), declared),
      "main" -> s"$shown${if (at == "live") " __change" else ""}")
  }

  private def condition(where: String): Dataset[Row] =
    if (where == null) null
    else StepRun.frame("left struct<id: string, __ts: timestamp>, right struct<v: string, __ts: timestamp>")
      .selectExpr(s"$where as condition")
}
