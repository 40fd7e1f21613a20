package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
import org.apache.spark.sql.catalyst.plans.logical.Project

/** Tests pairs of rows against the extra condition of a join; for one task. Null is false. */
final class PairCondition(condition: Option[Expression]) {
  private val pair = new GenericInternalRow(2)
  private lazy val predicate = condition.map(Predicate.create(_))

  def accepts(left: InternalRow, right: InternalRow): Boolean = predicate.forall { holds =>
    pair.update(0, left)
    pair.update(1, right)
    holds.eval(pair)
  }
}

object PairCondition {
  /**
   * Returns the condition of a join over the bound columns `left` and `right`; None for all pairs.
   *
   * @param conditioned the condition as the only column over a frame of pairs; may be null
   */
  def bind(conditioned: Dataset[Row]): Option[Expression] = Option(conditioned).map(bindCondition)

  private def bindCondition(conditioned: Dataset[Row]): Expression =
    ReplaceExpressions(OperatorPlan.planOf(conditioned)) match {
      case Project(Seq(named), child) =>
        val condition = OperatorPlan.inlineCommonExpressions(named match {
          case Alias(inner, _) => inner
          case other => other
        })
        condition.collectFirst { case p: PythonUDF => p }.foreach { p =>
          throw new IllegalArgumentException(
            s"${p.name} is a Python function: the condition of a join is Spark SQL")
        }
        BindReferences.bindReference(condition, AttributeSeq(child.output))
      case _ => throw new IllegalArgumentException("expected a condition over single pairs of rows")
    }
}
