package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{SparkSession, Strategy}
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}
import org.apache.spark.sql.types.{Metadata, ObjectType, StructType}

/** Plan nodes that the stateful operators share. */
object OperatorPlan {
  /** Registers a planner strategy with a session. */
  def addStrategy(session: SparkSession, strategy: Strategy): Unit = {
    val planned = session.experimental
    if (!planned.extraStrategies.contains(strategy)) planned.extraStrategies :+= strategy
  }

  /** True if the plan runs in real-time mode, which accepts no custom physical operators. */
  def isRealTime(plan: LogicalPlan): Boolean = plan.exists {
    case scan: StreamingDataSourceV2ScanRelation => scan.relation.realTimeModeDuration.isDefined
    case _ => false
  }

  /**
   * Projects the same columns without the watermark metadata. Spark drops late rows before a
   * stateful operator if it sees that metadata; the watermark advances either way.
   */
  def hideWatermark(plan: LogicalPlan): (LogicalPlan, Map[ExprId, Attribute]) = {
    val columns = plan.output.map(a => Alias(a, a.name)(explicitMetadata = Some(Metadata.empty)))
    (Project(columns, plan), plan.output.map(_.exprId).zip(columns.map(_.toAttribute)).toMap)
  }

  /** Adds a constant key column if there are no keys; Spark requires at least one. */
  def withConstantKey(keys: Seq[Attribute], plan: LogicalPlan): (Seq[Attribute], LogicalPlan) =
    if (keys.nonEmpty) (keys, plan)
    else {
      val one = Alias(Literal(0), "__all")()
      (Seq(one.toAttribute), Project(plan.output :+ one, plan))
    }

  /** A `transformWithState` node whose processor takes and returns rows without conversion. */
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

  /** Unpacks the tagged rows that a node returns as objects. */
  def unpackRows(node: LogicalPlan, row: Attribute, output: StructType): LogicalPlan =
    SerializeFromObject(
      output.fields.toIndexedSeq.zipWithIndex.map { case (field, i) =>
        Alias(RowColumn(row, i, field.dataType), field.name)()
      }, node)
}
