package org.apache.spark.sql.headrace.rules

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, GenericInternalRow}
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.headrace.operators.keyed.StepColumns
import org.apache.spark.sql.headrace.patterns.MatchedRows
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Output rows of rules: the key, `rule`, `version`, `start` and `end`, and the measures that all rules share;
 * without measures, and for timeouts, `matched`: the rows of each step by name.
 */
final class RulesOutput(keys: StructType, visible: Seq[Attribute], measures: Option[StructType])
    extends Serializable {
  private val matched = new StructType().add("matched",
    MapType(
      StringType, ArrayType(StepColumns.struct(visible), containsNull = false), valueContainsNull = false))

  val main: StructType = row(measures.getOrElse(matched))
  val timeouts: StructType = row(matched)

  def matchResult(
      key: InternalRow, rule: ActiveRule, rows: MatchedRows, start: Long, time: Long): InternalRow = build(
    key, rule, start, time,
    if (measures.isEmpty) Seq(byStep(rule, rows))
    else { rule.rule.measures.map(_.eval(InternalRow.empty, rows)) })

  def timeoutResult(
      key: InternalRow, rule: ActiveRule, rows: MatchedRows, start: Long, time: Long): InternalRow =
    build(key, rule, start, time, Seq(byStep(rule, rows)))

  private def build(
      key: InternalRow, rule: ActiveRule, start: Long, time: Long, values: Seq[Any]): InternalRow = {
    val header = Seq[Any](UTF8String.fromString(rule.id), rule.version, start, time)
    new GenericInternalRow((key.toSeq(keys) ++ header ++ values :+ time).toArray[Any])
  }

  private def byStep(rule: ActiveRule, rows: MatchedRows): Any = {
    val steps = rule.rule.spec.steps
    new ArrayBasedMapData(
      new GenericArrayData(steps.map(UTF8String.fromString).toArray[Any]),
      new GenericArrayData(
        steps.indices.map(i => new GenericArrayData(rows.rows(i).toArray[Any])).toArray[Any]))
  }

  private def row(values: StructType): StructType =
    StructType(keys.fields ++ new StructType().add("rule", StringType).add("version", IntegerType).add(
      "start", TimestampType).add("end", TimestampType).fields ++ values.fields).add("__ts", TimestampType)
}
