package org.apache.spark.sql.headrace.patterns

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.headrace.operators.Aggregates
import org.apache.spark.sql.types._

/** Rows matched so far, by step. */
trait MatchedRows {
  def rows(step: Int): IndexedSeq[InternalRow]

  def last: Option[InternalRow]
}

/** A value that an expression takes from the matched rows. */
sealed trait Navigation extends Serializable {
  def dataType: DataType
  def eval(matched: MatchedRows): Any
}

/** An expression over the nth row of a step, from its first or last; null if there is none. */
final case class NthRowValue(step: Int, of: Expression, columns: Seq[Attribute], fromLast: Boolean,
    offset: Int)
    extends Navigation {
  @transient private lazy val bound = BindReferences.bindReference(of, AttributeSeq(columns))
  override def dataType: DataType = of.dataType
  override def eval(matched: MatchedRows): Any = {
    val rows = matched.rows(step)
    val at = if (fromLast) rows.size - 1 - offset else offset
    if (at < 0 || at >= rows.size) null else bound.eval(rows(at))
  }
}

/** An expression over the last matched row of any step. */
final case class LastRowValue(of: Expression, columns: Seq[Attribute]) extends Navigation {
  @transient private lazy val bound = BindReferences.bindReference(of, AttributeSeq(columns))
  override def dataType: DataType = of.dataType
  override def eval(matched: MatchedRows): Any = matched.last.map(bound.eval).orNull
}

final case class StepRowCount(step: Int) extends Navigation {
  override def dataType: DataType = LongType
  override def eval(matched: MatchedRows): Any = matched.rows(step).size.toLong
}

final case class StepRows(step: Int, row: StructType) extends Navigation {
  override def dataType: DataType = ArrayType(row, containsNull = false)
  override def eval(matched: MatchedRows): Any = new GenericArrayData(matched.rows(step).toArray[Any])
}

/** A Spark aggregate over the rows of a step. */
final case class StepAggregate(step: Int, aggregates: Aggregates) extends Navigation {
  override def dataType: DataType = aggregates.types.head
  override def eval(matched: MatchedRows): Any = {
    val buffer = aggregates.create()
    matched.rows(step).foreach(aggregates.update(buffer, _))
    val result = aggregates.result(buffer, InternalRow.empty)
    if (result.isNullAt(0)) null else result.get(0, dataType)
  }
}

/**
 * An expression over a row and values from matched rows.
 *
 * @param over the columns of the row under test; empty for measures
 */
final case class NavigationExpression(expression: Expression, over: Seq[Attribute],
    values: Seq[(Attribute, Navigation)])
    extends Serializable {
  @transient private lazy val bound = BindReferences
    .bindReference(expression, AttributeSeq(over ++ values.map(_._1)))
  @transient private lazy val joinedRow = new JoinedRow
  @transient private lazy val valueRow = new GenericInternalRow(values.size)
  @transient private lazy val navigations = values.map(_._2).toArray
  @transient private lazy val predicate = Predicate.create(bound)
  def dataType: DataType = expression.dataType
  def eval(row: InternalRow, matched: MatchedRows): Any = bound
    .eval(joinedRow(row, evaluateNavigations(matched)))

  /** Evaluates a condition; null is false. */
  def holds(row: InternalRow, matched: MatchedRows): Boolean = predicate
    .eval(joinedRow(row, evaluateNavigations(matched)))

  private def evaluateNavigations(matched: MatchedRows): InternalRow = {
    navigations.indices.foreach(i => valueRow.update(i, navigations(i).eval(matched)))
    valueRow
  }
}
