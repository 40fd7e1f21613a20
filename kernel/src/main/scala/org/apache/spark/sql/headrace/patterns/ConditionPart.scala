package org.apache.spark.sql.headrace.patterns

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.{StructField, StructType}

/**
 * A part of a condition, as it was written: the condition holds if all its parts do.
 *
 * @param values what it looks at, by the text that names it
 */
final case class ConditionPart(text: String, condition: NavigationExpression, values: Seq[(String, NavigationExpression)]) {
  val shape: StructType = StructType(values.map { case (name, of) => StructField(name, of.dataType) })

  def holds(row: InternalRow, matched: MatchedRows): Boolean = condition.holds(row, matched)

  /** What it sees for a row, as `shape` has it. */
  def seen(row: InternalRow, matched: MatchedRows): InternalRow =
    new GenericInternalRow(values.map(_._2.eval(row, matched)).toArray[Any])
}
