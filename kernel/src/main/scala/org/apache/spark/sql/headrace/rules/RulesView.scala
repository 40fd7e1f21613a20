package org.apache.spark.sql.headrace.rules

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.headrace.operators.inorder.{InOrderLogic, InOrderProcessor, InOrderReader, InOrderView, StepColumns}
import org.apache.spark.sql.headrace.patterns.{LinkedRows, PartialMatch}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Encoders, Row}

/** The state of a step with rules as rows that people can read: partial matches by rule, and rows that wait. */
final class RulesView(step: RulesStep) extends InOrderView(step) {
  /** PartialMatch matches of these rules, from rows of `key`, `slot` and `bytes`: the entries of the state `matches`. */
  def partials(entries: Dataset[Row], rules: String): Dataset[Row] = {
    step.load(rules)
    val (declared, shape) = (step, RulesView.partials(step))
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val reader = new RulesReader(declared)
      rows.filter(_.getLong(1) == 0).flatMap(row => reader.partials(row.getStruct(0), row.getAs[Array[Byte]](2)))
    }(Encoders.row(shape))
  }
}

object RulesView {
  /** The view of the rules in a query's plan; null where there are none. */
  def of(query: Dataset[Row]): RulesView =
    InOrderProcessor.stepOf(query).collect { case step: RulesStep => new RulesView(step) }.orNull

  private def row(step: RulesStep): StructType = StepColumns.struct(step.columns.visible)

  private def partials(step: RulesStep): StructType = new StructType()
    .add("key", step.columns.keyType).add("rule", StringType).add("version", IntegerType)
    .add("start", TimestampType).add("end", TimestampType).add("complete", BooleanType)
    .add("matched", MapType(StringType, ArrayType(row(step))))
}

/** Reads stored bytes. */
private final class RulesReader(step: RulesStep) extends InOrderReader(step) {
  private val matcher = step.matcher()

  def partials(key: Row, stored: Array[Byte]): Seq[Row] =
    InOrderLogic.readSlot(stored, step.fingerprint, matcher)._1.toSeq.flatMap { memory =>
      memory.partials.indices.filter(memory.partials(_) != null).flatMap { rule =>
        val (own, partials) = (step.rules.rules(rule), memory.partials(rule))
        val begun = partials.partial.asScala.filter(_.started).toSeq.distinctBy(_.last)
        begun.map(partial(key, own, _, complete = false)) ++
          partials.complete.asScala.map(partial(key, own, _, complete = true))
      }
    }

  private def partial(key: Row, rule: ActiveRule, one: PartialMatch, complete: Boolean): Row = {
    val steps = rule.rule.spec.steps
    val matched = new LinkedRows(one.last, steps.size)
    val arrays = steps.zipWithIndex.map { case (name, i) => name -> matched.rows(i).map(row) }.toMap
    Row(keyRow(key), rule.id, rule.version, time(one.firstTime), time(one.lastTime), complete, arrays)
  }
}
