/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.rules

import org.apache.spark.sql.{Dataset, Encoders, Row}
import org.apache.spark.sql.catalyst.CatalystTypeConverters.createToScalaConverter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState
import org.apache.spark.sql.classic
import org.apache.spark.sql.headrace.patterns.{Columns, InOrder, InOrderProcessor, LinkedRows, Partial}
import org.apache.spark.sql.types._

import scala.jdk.CollectionConverters._

/** The state of a step with rules as rows that people can read: partial matches by rule, and rows that wait. */
final class RulesView(step: RulesStep) {
  /** Partial matches of these rules, from rows of `key`, `slot` and `bytes`: the entries of the state `matches`. */
  def partials(entries: Dataset[Row], rules: String): Dataset[Row] = {
    step.load(rules)
    val (declared, shape) = (step, RulesView.partials(step))
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val reader = new RulesReader(declared)
      rows.filter(_.getLong(1) == 0).flatMap(row => reader.partials(row.getStruct(0), row.getAs[Array[Byte]](2)))
    }(Encoders.row(shape))
  }

  /** Rows that wait, from the same. */
  def waiting(entries: Dataset[Row]): Dataset[Row] = {
    val (declared, shape) = (step, RulesView.waiting(step))
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val reader = new RulesReader(declared)
      rows.flatMap(row => reader.waiting(row.getStruct(0), row.getLong(1), row.getAs[Array[Byte]](2)))
    }(Encoders.row(shape))
  }
}

object RulesView {
  /** The view of the rules in a query's plan; null where there are none. */
  def of(query: Dataset[Row]): RulesView =
    query.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed.collectFirst {
      case t: TransformWithState if t.statefulProcessor.isInstanceOf[InOrderProcessor] =>
        t.statefulProcessor.asInstanceOf[InOrderProcessor].step
    }.collect { case step: RulesStep => new RulesView(step) }.orNull

  private def row(step: RulesStep): StructType = Columns.struct(step.columns.visible)

  private def partials(step: RulesStep): StructType = new StructType()
    .add("key", step.columns.keyType).add("rule", StringType).add("version", IntegerType)
    .add("start", TimestampType).add("end", TimestampType).add("complete", BooleanType)
    .add("matched", MapType(StringType, ArrayType(row(step))))

  private def waiting(step: RulesStep): StructType =
    new StructType().add("key", step.columns.keyType).add("time", TimestampType).add("row", row(step))
}

/** Reads stored bytes. */
private final class RulesReader(step: RulesStep) {
  private val matcher = step.matcher()
  private val shown = createToScalaConverter(Columns.struct(step.columns.visible))
  private val time = createToScalaConverter(TimestampType)

  def partials(key: Row, stored: Array[Byte]): Seq[Row] =
    InOrder.stored(stored, step.fingerprint, matcher)._1.toSeq.flatMap { memory =>
      memory.partials.indices.filter(memory.partials(_) != null).flatMap { rule =>
        val (own, partials) = (step.rules.rules(rule), memory.partials(rule))
        val begun = partials.partial.asScala.filter(_.started).toSeq.distinctBy(_.last)
        begun.map(partial(key, own, _, complete = false)) ++
          partials.complete.asScala.map(partial(key, own, _, complete = true))
      }
    }

  def waiting(key: Row, slot: Long, stored: Array[Byte]): Iterator[Row] =
    InOrder.waiting(slot, stored, step.fingerprint, matcher).map { held =>
      Row(own(key), time(held.time), row(step.columns.kept(held.row).copy()))
    }

  private def partial(key: Row, rule: InForce, one: Partial, complete: Boolean): Row = {
    val steps = rule.rule.spec.steps
    val matched = new LinkedRows(one.last, steps.size)
    val arrays = steps.zipWithIndex.map { case (name, i) => name -> matched.rows(i).map(row) }.toMap
    Row(own(key), rule.id, rule.version, time(one.firstTime), time(one.lastTime), complete, arrays)
  }

  private def row(of: InternalRow): Row = shown(of).asInstanceOf[Row]

  /** Without key columns Spark's key is a constant, which is none of ours. */
  private def own(key: Row): Row = if (step.columns.keys.isEmpty) Row.empty else key
}
