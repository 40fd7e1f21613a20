package org.apache.spark.sql.headrace.matchrecognize

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, GenericInternalRow}
import org.apache.spark.sql.types.{StructField, StructType}

/** Output columns: PARTITION BY and measures; with all rows, also the other columns. */
final class RowPatternOutput(pattern: RowPattern, input: Seq[Attribute], keys: Seq[Attribute],
    ordering: Seq[Attribute], names: Seq[String])
    extends Serializable {
  private val all = pattern.shown != OneRow
  private val before: Seq[Attribute] = (if (all) keys ++ ordering else keys).distinctBy(_.exprId)
  private val after: Seq[Attribute] =
    if (!all) Nil else input.filterNot(a => a.name.startsWith("__") || before.exists(_.exprId == a.exprId))
  private val measureFields = names.zip(pattern.measures).map { case (n, m) =>
    StructField(n, m.result.dataType)
  }
  val schema: StructType = StructType(before.map(field) ++ measureFields ++ after.map(field))
  private val from = before.map(ordinal).toArray
  private val to = after.map(ordinal).toArray
  private val types = input.map(_.dataType).toArray

  /** Builds a result; an unmatched row has null measures. */
  def row(of: InternalRow, measures: Array[Any]): InternalRow = {
    val values = new Array[Any](schema.length)
    from.indices.foreach(i => values(i) = of.get(from(i), types(from(i))))
    if (measures != null) System.arraycopy(measures, 0, values, from.length, measures.length)
    val base = from.length + measureFields.length
    to.indices.foreach(i => values(base + i) = of.get(to(i), types(to(i))))
    new GenericInternalRow(values)
  }

  private def field(a: Attribute): StructField = StructField(a.name, a.dataType)
  private def ordinal(a: Attribute): Int = input.indexWhere(_.exprId == a.exprId)
}
