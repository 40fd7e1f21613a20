package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{SparkSession, Strategy}
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}
import org.apache.spark.sql.types.{Metadata, ObjectType, StructType}

/** Nodes of Spark plans that the stateful operators share. */
object OperatorPlan {
  /** Has a session plan nodes of ours. */
  def plannedBy(session: SparkSession, strategy: Strategy): Unit = {
    val planned = session.experimental
    if (!planned.extraStrategies.contains(strategy)) planned.extraStrategies :+= strategy
  }

  /** Whether a plan runs in real time, where nothing is held back and Spark takes no operator that it doesn't know. */
  def inRealTime(plan: LogicalPlan): Boolean = plan.exists {
    case scan: StreamingDataSourceV2ScanRelation => scan.relation.realTimeModeDuration.isDefined
    case _ => false
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
