package org.apache.spark.sql.headrace.operators

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream}

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.DataType

/** An aggregate over distinct values: collects a set and aggregates it on evaluation. */
final case class DistinctAggregate(inner: AggregateFunction, children: Seq[Expression],
    mutableAggBufferOffset: Int = 0, inputAggBufferOffset: Int = 0)
    extends TypedImperativeAggregate[mutable.LinkedHashSet[UnsafeRow]] {
  private type Values = mutable.LinkedHashSet[UnsafeRow]
  @transient private lazy val columns = inner.children
    .map(child => AttributeReference("value", child.dataType, child.nullable)())
  @transient private lazy val over = {
    val function = inner.withNewChildren(columns).asInstanceOf[AggregateFunction]
    val complete = AggregateExpression(function, Complete, isDistinct = false)
    Aggregates.of(Seq(complete), columns, Nil)
  }
  @transient private lazy val project = UnsafeProjection.create(children)
  override def createAggregationBuffer(): Values = mutable.LinkedHashSet.empty
  override def update(values: Values, row: InternalRow): Values = {
    val value = project(row)
    if (!values.contains(value)) values += value.copy()
    values
  }
  override def merge(values: Values, other: Values): Values = values ++= other
  override def eval(values: Values): Any = {
    val buffer = over.create()
    values.foreach(over.update(buffer, _))
    over.result(buffer, InternalRow.empty).get(0, dataType)
  }
  override def serialize(values: Values): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new DataOutputStream(bytes)
    out.writeInt(values.size)
    values.foreach { value =>
      out.writeInt(value.getSizeInBytes)
      out.write(value.getBytes)
    }
    bytes.toByteArray
  }
  override def deserialize(bytes: Array[Byte]): Values = {
    val in = new DataInputStream(new ByteArrayInputStream(bytes))
    val values = createAggregationBuffer()
    (0 until in.readInt()).foreach { _ =>
      val value = in.readNBytes(in.readInt())
      val row = new UnsafeRow(children.size)
      row.pointTo(value, value.length)
      values += row
    }
    values
  }
  override def nullable: Boolean = inner.nullable
  override def dataType: DataType = inner.dataType
  override def prettyName: String = s"distinct_${inner.prettyName}"
  override def withNewMutableAggBufferOffset(at: Int): DistinctAggregate = copy(mutableAggBufferOffset = at)
  override def withNewInputAggBufferOffset(at: Int): DistinctAggregate = copy(inputAggBufferOffset = at)
  override protected def withNewChildrenInternal(next: IndexedSeq[Expression]): DistinctAggregate =
    copy(children = next)
}

object DistinctAggregate {
  /** Moves the DISTINCT of an aggregate expression into its function. */
  def rewrite(e: AggregateExpression): AggregateExpression =
    if (!e.isDistinct) e
    else e.copy(aggregateFunction = DistinctAggregate(e.aggregateFunction, e.aggregateFunction.children),
      isDistinct = false)
}
