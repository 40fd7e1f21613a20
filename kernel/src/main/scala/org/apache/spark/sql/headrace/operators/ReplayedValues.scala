package org.apache.spark.sql.headrace.operators

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types.DataType

/**
 * An aggregate over a changelog that keeps its input values, each with the number of rows that have it.
 *
 * A number may be negative for a while: the order of changes does not matter.
 *
 * @param children the values, and the condition that a row removes an earlier one
 */
final case class ReplayedValues(inner: AggregateFunction, distinct: Boolean, children: Seq[Expression],
    mutableAggBufferOffset: Int = 0, inputAggBufferOffset: Int = 0)
    extends TypedImperativeAggregate[mutable.LinkedHashMap[UnsafeRow, Long]] {
  private type Values = mutable.LinkedHashMap[UnsafeRow, Long]
  @transient private lazy val columns = inner.children.filterNot(_.foldable)
    .map(child => AttributeReference("value", child.dataType, child.nullable)())
  @transient private lazy val over = {
    val own = columns.iterator
    val arguments = inner.children.map(child => if (child.foldable) child else own.next())
    val function = inner.withNewChildren(arguments).asInstanceOf[AggregateFunction]
    Aggregates.of(Seq(AggregateExpression(function, Complete, isDistinct = false)), columns, Nil)
  }
  @transient private lazy val project = UnsafeProjection.create(children.init)

  override def createAggregationBuffer(): Values = mutable.LinkedHashMap.empty

  override def update(values: Values, row: InternalRow): Values = {
    val sign = if (children.last.eval(row) == true) -1L else 1L
    add(values, project(row), sign)
  }

  override def merge(values: Values, other: Values): Values = {
    other.foreach { case (value, number) => add(values, value, number) }
    values
  }

  override def eval(values: Values): Any = {
    val buffer = over.create()
    values.foreach { case (value, number) =>
      var left = if (distinct) math.min(number, 1L) else number
      while (left > 0) {
        over.update(buffer, value)
        left -= 1
      }
    }
    over.result(buffer, InternalRow.empty).get(0, dataType)
  }

  override def serialize(values: Values): Array[Byte] = {
    val out = new Output(256, -1)
    out.writeVarInt(values.size, true)
    values.foreach { case (value, number) =>
      out.writeVarLong(number, false)
      RowBytes.write(value, out)
    }
    out.toBytes
  }

  override def deserialize(bytes: Array[Byte]): Values = {
    val (in, values) = (new Input(bytes), createAggregationBuffer())
    (0 until in.readVarInt(true)).foreach { _ =>
      val number = in.readVarLong(false)
      values.put(RowBytes.read(in, children.size - 1), number)
    }
    values
  }

  private def add(values: Values, value: UnsafeRow, number: Long): Values = {
    val sum = values.getOrElse(value, 0L) + number
    if (sum == 0) values.remove(value) else values.put(value.copy(), sum)
    values
  }

  override def nullable: Boolean = inner.nullable
  override def dataType: DataType = inner.dataType
  override def prettyName: String = s"kept_${if (distinct) "distinct_" else ""}${inner.prettyName}"
  override def withNewMutableAggBufferOffset(at: Int): ReplayedValues = copy(mutableAggBufferOffset = at)
  override def withNewInputAggBufferOffset(at: Int): ReplayedValues = copy(inputAggBufferOffset = at)
  override protected def withNewChildrenInternal(next: IndexedSeq[Expression]): ReplayedValues =
    copy(children = next)
}
