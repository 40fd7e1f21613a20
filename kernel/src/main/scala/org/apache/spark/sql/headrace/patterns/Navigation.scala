package org.apache.spark.sql.headrace.patterns

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.headrace.operators.Aggregates
import org.apache.spark.sql.types._

/** The rows matched so far, by step. */
trait MatchedRows {
  def rows(step: Int): IndexedSeq[InternalRow]

  /** The last one of all. */
  def last: Option[InternalRow]
}

/** A value that an expression takes from the rows matched so far. */
sealed trait Navigation extends Serializable {
  def dataType: DataType
  def eval(matched: MatchedRows): Any
}

/** An expression over one row of a step, counted from its first or its last; null where there is no such row. */
final case class NthRowValue(step: Int, of: Expression, columns: Seq[Attribute], fromLast: Boolean, offset: Int)
    extends Navigation {
  @transient private lazy val bound = BindReferences.bindReference(of, AttributeSeq(columns))
  override def dataType: DataType = of.dataType
  override def eval(matched: MatchedRows): Any = {
    val rows = matched.rows(step)
    val at = if (fromLast) rows.size - 1 - offset else offset
    if (at < 0 || at >= rows.size) null else bound.eval(rows(at))
  }
}

/** An expression over the match's last row, whichever step took it. */
final case class LastRowValue(of: Expression, columns: Seq[Attribute]) extends Navigation {
  @transient private lazy val bound = BindReferences.bindReference(of, AttributeSeq(columns))
  override def dataType: DataType = of.dataType
  override def eval(matched: MatchedRows): Any = matched.last.map(bound.eval).orNull
}

/** How many rows a step has. */
final case class StepRowCount(step: Int) extends Navigation {
  override def dataType: DataType = LongType
  override def eval(matched: MatchedRows): Any = matched.rows(step).size.toLong
}

/** All rows of a step, as an array. */
final case class StepRows(step: Int, row: StructType) extends Navigation {
  override def dataType: DataType = ArrayType(row, containsNull = false)
  override def eval(matched: MatchedRows): Any = new GenericArrayData(matched.rows(step).toArray[Any])
}

/** Any Spark aggregate over the rows of a step. */
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
 * An expression over a row and values from the rows matched so far.
 *
 * @param over the columns of the row; none where there is no row under test
 */
final case class NavigationExpression(expression: Expression, over: Seq[Attribute], values: Seq[(Attribute, Navigation)])
    extends Serializable {
  @transient private lazy val bound =
    BindReferences.bindReference(expression, AttributeSeq(over ++ values.map(_._1)))
  @transient private lazy val joined = new JoinedRow
  @transient private lazy val found = new GenericInternalRow(values.size)
  @transient private lazy val navigations = values.map(_._2).toArray
  @transient private lazy val predicate = Predicate.create(bound)

  def dataType: DataType = expression.dataType

  def eval(row: InternalRow, matched: MatchedRows): Any = bound.eval(joined(row, navigate(matched)))

  /** For a condition; null is false. */
  def holds(row: InternalRow, matched: MatchedRows): Boolean = predicate.eval(joined(row, navigate(matched)))

  private def navigate(matched: MatchedRows): InternalRow = {
    navigations.indices.foreach(i => found.update(i, navigations(i).eval(matched)))
    found
  }
}
