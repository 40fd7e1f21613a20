package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.{classic, Dataset, Row}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.classic.{SparkSession, Strategy}
import org.apache.spark.sql.execution.SparkPlan

/** A logical node that creates its physical node. */
trait PlannedNode extends UnaryNode {
  def planWith(input: SparkPlan): SparkPlan
}

object PlannedNode extends Strategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case node: PlannedNode => node.planWith(planLater(node.child)) :: Nil
    case _ => Nil
  }

  def add(session: SparkSession, node: PlannedNode): PlannedNode = {
    OperatorPlan.addStrategy(session, this)
    node
  }

  def over(frame: Dataset[Row])(node: LogicalPlan => PlannedNode): Dataset[Row] = {
    val session = frame.sparkSession.asInstanceOf[SparkSession]
    classic.Dataset.ofRows(session, add(session, node(OperatorPlan.planOf(frame))))
  }
}
