package org.apache.spark.sql.headrace.tables

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Literal, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.headrace.operators.{Change, StepTime}
import org.apache.spark.sql.headrace.operators.keyed.{KeyedStep, StepColumns}
import org.apache.spark.sql.types.{StringType, StructType}

trait TableStep extends KeyedStep {
  @transient private lazy val finalRows = new FinalRows(columns)

  override def variable: String = "table"
  override def batchOutput(rows: Iterator[InternalRow]): Iterator[InternalRow] = finalRows(rows)
}

/** The declaration of a table step, as JSON from Python. */
private final class TableSpec(text: String) {
  private val tree: JsonNode = new ObjectMapper().readTree(text)
  val keys: Seq[String] = words("keys")
  val time: StepTime.Value = StepTime.withName(word("time"))

  def word(name: String): String = tree.path(name).asText
  def words(name: String): Seq[String] = tree.path(name).elements.asScala.map(_.asText).toVector
  def number(name: String): Long = tree.path(name).asLong
  def flag(name: String): Boolean = tree.path(name).asBoolean
}

/** Reduces the changes of a batch to the rows that remain, as inserts. */
private final class FinalRows(columns: StepColumns) {
  private val main = columns.output("__main").dataType.asInstanceOf[StructType]
  private val labels = main.fieldNames.indices.filter(i => Change.fields.exists(_.name == main(i).name))
  private val asInsert = UnsafeProjection.create(main.fields.toSeq.zipWithIndex.map {
    case (_, i) if labels.contains(i) => Literal(Change.Insert, StringType)
    case (field, i) => BoundReference(i, field.dataType, nullable = true)
  })

  /** Takes tagged rows; those of other outputs, and of a main output without changes, stay as they are. */
  def apply(tagged: Iterator[InternalRow]): Iterator[InternalRow] =
    if (labels.isEmpty) tagged
    else {
      val (changes, others) = tagged.toVector.partition(!_.isNullAt(1))
      val counts = mutable.LinkedHashMap.empty[UnsafeRow, Int]
      changes.map(_.getStruct(1, main.size)).foreach { row =>
        val sign = if (Change.removes(row, labels.last)) -1 else 1
        counts.updateWith(asInsert(row).copy())(count => Some(count.getOrElse(0) + sign))
      }
      others.iterator ++ counts.iterator.flatMap { case (row, n) => Iterator.fill(n)(columns.tag(0, row)) }
    }
}
