/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.windows

import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic
import org.apache.spark.sql.headrace.Together
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}
import org.apache.spark.sql.types.{Metadata, ObjectType, StructType}

/** A windowed step as a node of a streaming plan. */
object WindowOperator {
  /** Setting of a session in virtual time: every open window is visited in every batch. */
  val Eager = "spark.headrace.windows.eager"

  private val timers =
    "org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateImpl"

  /** Two windows of a key may want the same moment; Spark warns of each second registration. */
  def quietTimers(): Unit = Configurator.setLevel(timers, Level.ERROR)

  /**
   * Tagged rows of a step over a stream.
   *
   * @param frame the input with Headrace's own columns, under a watermark unless the clock is its time
   * @param grouped its aggregates, as `Step` reads them
   * @param spec the declaration, as JSON
   * @param counts where rows are counted
   */
  def apply(frame: Dataset[Row], grouped: Dataset[Row], spec: String, counts: Counts): Dataset[Row] = {
    quietTimers()
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession]
    val read = Step(frame, grouped, spec)
    val declared = read.copy(spec = read.spec.copy(eager = session.conf.get(Eager, "false").toBoolean))
    val (step, child, renamed) = narrowed(declared, frame.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed)
    val (keys, keyed) = constant(step.keys.map(k => renamed(k.exprId)), child)
    val processor = new WindowProcessor(step, RowKey.encoder(keys), counts)
    val rows = if (step.combines) combined(session, step, keys, keyed) else keyed
    val operator = node(
      processor, step.spec.byClock, keys, Together.over(session, keys, rows), RowCopy(), processor.encoder)
    classic.Dataset.ofRows(session, serialized(operator, operator.outputObjAttr, step.layout.output))
  }

  /** A plan with the columns that the step needs, those for `Combine` behind them; and the step over these. */
  private def narrowed(step: Step, plan: LogicalPlan): (Step, LogicalPlan, Map[ExprId, Attribute]) = {
    val kept = plan.output.filter(a => step.ordered || a.name != "__position")
    val (child, renamed) = hidden(Project(kept, plan))
    if (!step.combines) (step.over(kept), child, renamed)
    else {
      val added = Combine.columns
      (step.over(kept ++ added.map(_.toAttribute)), Project(child.output ++ added, child), renamed)
    }
  }

  private def combined(session: classic.SparkSession, step: Step, keys: Seq[Attribute], child: LogicalPlan): LogicalPlan = {
    Together.plannedBy(session, Combine.Planned)
    Combine(step, keys, child)
  }

  /**
   * The same columns without the mark of a watermark: where Spark sees it, it drops late rows before they come here.
   * The watermark moves all the same.
   */
  def hidden(plan: LogicalPlan): (LogicalPlan, Map[ExprId, Attribute]) = {
    val columns = plan.output.map(a => Alias(a, a.name)(explicitMetadata = Some(Metadata.empty)))
    (Project(columns, plan), plan.output.map(_.exprId).zip(columns.map(_.toAttribute)).toMap)
  }

  /** Without key columns all rows have one key, which Spark wants to be a column. */
  def constant(keys: Seq[Attribute], plan: LogicalPlan): (Seq[Attribute], LogicalPlan) =
    if (keys.nonEmpty) (keys, plan)
    else {
      val one = Alias(Literal(0), "__all")()
      (Seq(one.toAttribute), Project(plan.output :+ one, plan))
    }

  /** A processor that takes whole rows and gives rows as objects, on Spark's state. */
  def node(
      processor: StatefulProcessor[_, InternalRow, InternalRow], byClock: Boolean, keys: Seq[Attribute],
      child: LogicalPlan, keyOf: Expression, encoder: ExpressionEncoder[Any]): TransformWithState =
    new TransformWithState(
      keyOf,
      WholeRow(),
      keys,
      child.output,
      processor.asInstanceOf[StatefulProcessor[Any, Any, Any]],
      if (byClock) TimeMode.ProcessingTime() else TimeMode.EventTime(),
      OutputMode.Append(),
      encoder,
      AttributeReference("row", ObjectType(classOf[InternalRow]), nullable = false)(),
      child,
      false,
      keys,
      child.output,
      keyOf,
      LocalRelation(keys))

  /** The tagged rows out of the objects that a node gives. */
  def serialized(node: LogicalPlan, row: Attribute, output: StructType): LogicalPlan =
    SerializeFromObject(
      output.fields.toIndexedSeq.zipWithIndex.map { case (field, i) =>
        Alias(RowColumn(row, i, field.dataType), field.name)()
      }, node)
}
