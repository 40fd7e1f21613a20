package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types.{DataType, DecimalType, IntegralType, LongType, StringType}

/**
 * Aggregates over the rows of a changelog, whose column `__change` labels rows that remove earlier ones.
 *
 * Counts, and sums and averages of integers and decimals, subtract the row. All other functions keep their
 * input values and are evaluated over them.
 */
object Retractions {
  /** The column with the number of rows that a result consists of; 0 if all were removed. */
  val Present = "__present"

  /** The condition that a row removes an earlier one; None if the rows are no changelog. */
  def removes(input: Seq[Attribute]): Option[Expression] = input.find(_.name == Change.Hidden).map { label =>
    Coalesce(
      Seq(In(label, Seq(Change.UpdateBefore, Change.Delete).map(Literal(_, StringType))), Literal(false)))
  }

  /** Returns the results of aggregates over a changelog; those over other rows unchanged. */
  def rewrite(results: Seq[Expression], input: Seq[Attribute]): Seq[Expression] = removes(input) match {
    case Some(condition) => results.map(_.transformUp { case e: AggregateExpression => over(e, condition) })
    case None => results
  }

  /** The number of rows that are present. */
  def present(removes: Expression): Expression = count(Nil, removes, None)

  private def over(e: AggregateExpression, removes: Expression): Expression = e.aggregateFunction match {
    case c: Count if !e.isDistinct => count(c.children, removes, e.filter)
    case s: Sum if !e.isDistinct && subtracts(s.child) =>
      val counted = count(Seq(s.child), removes, e.filter)
      If(EqualTo(counted, Literal(0L)), Literal(null, s.dataType), sum(s.child, removes, e.filter))
    case a: Average if !e.isDistinct && subtracts(a.child) => average(a, removes, e.filter)
    case f =>
      val values = f.children.filterNot(_.foldable)
      complete(ReplayedValues(f, e.isDistinct, values :+ removes), e.filter)
  }

  private def subtracts(child: Expression): Boolean = child.dataType match {
    case _: IntegralType | _: DecimalType => true
    case _ => false
  }

  /** Evaluates an average from a sum and a count that subtract. */
  private def average(a: Average, removes: Expression, filter: Option[Expression]): Expression = {
    val Seq(total, number) = a.aggBufferAttributes
    a.evaluateExpression.transformUp {
      case x: AttributeReference if x.exprId == total.exprId =>
        cast(sum(a.child, removes, filter), total.dataType)
      case x: AttributeReference if x.exprId == number.exprId => count(Seq(a.child), removes, filter)
    }
  }

  private def count(
      children: Seq[Expression], removes: Expression, filter: Option[Expression]): Expression = {
    val sign = If(removes, Literal(-1L), Literal(1L))
    val nulls = children.filter(_.nullable).map(IsNull(_): Expression)
    val counted = nulls.reduceOption(Or(_, _)).fold[Expression](sign)(If(_, Literal(0L), sign))
    Coalesce(Seq(complete(Sum(counted), filter), Literal(0L)))
  }

  private def sum(child: Expression, removes: Expression, filter: Option[Expression]): Expression = {
    val value = if (child.dataType.isInstanceOf[IntegralType]) cast(child, LongType) else child
    complete(Sum(If(removes, UnaryMinus(value), value)), filter)
  }

  private def cast(value: Expression, kind: DataType): Expression =
    if (value.dataType == kind) value else Cast(value, kind)

  private def complete(function: AggregateFunction, filter: Option[Expression]): AggregateExpression =
    AggregateExpression(function, Complete, isDistinct = false, filter)
}
