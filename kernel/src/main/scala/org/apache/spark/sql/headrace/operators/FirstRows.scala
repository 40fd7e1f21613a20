package org.apache.spark.sql.headrace.operators

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.types.{ArrayType, DataType, StructType}

/**
 * The first `n` rows in an order, as an array; of equal rows, the earlier ones. Keeps no more than `n`.
 *
 * @param children the row, a struct, then the values to order by
 * @param directions a word per value, such as `desc nulls last`
 */
final case class FirstRows(children: Seq[Expression], directions: Seq[String], n: Int,
    mutableAggBufferOffset: Int = 0, inputAggBufferOffset: Int = 0)
    extends TypedImperativeAggregate[mutable.ArrayBuffer[UnsafeRow]] {
  private type Rows = mutable.ArrayBuffer[UnsafeRow]
  @transient private lazy val project = UnsafeProjection.create(children)
  @transient private lazy val ordering = RowOrdering.create(directions.zipWithIndex.map { case (words, i) =>
      FirstRows.order(BoundReference(i + 1, children(i + 1).dataType, nullable = true), words)
    }, children.map(child => AttributeReference("value", child.dataType)()))
  @transient private lazy val width = children.head.dataType.asInstanceOf[StructType].length

  override def createAggregationBuffer(): Rows = mutable.ArrayBuffer.empty
  override def update(rows: Rows, row: InternalRow): Rows = add(rows, project(row))
  override def merge(rows: Rows, other: Rows): Rows = {
    other.foreach(add(rows, _))
    rows
  }

  override def eval(rows: Rows): Any =
    new GenericArrayData(rows.map(_.getStruct(0, width).copy(): Any).toArray)

  private def add(rows: Rows, row: UnsafeRow): Rows = {
    if (rows.size < n || ordering.compare(row, rows.last) < 0) {
      rows.insert(placeOf(rows, row), row.copy())
      if (rows.size > n) rows.dropRightInPlace(1)
    }
    rows
  }

  /** The place behind all rows that are not greater. */
  private def placeOf(rows: Rows, row: UnsafeRow): Int = {
    var (low, high) = (0, rows.size)
    while (low < high) {
      val middle = (low + high) >>> 1
      if (ordering.compare(rows(middle), row) <= 0) low = middle + 1 else high = middle
    }
    low
  }

  override def serialize(rows: Rows): Array[Byte] = {
    val out = new Output(256, -1)
    out.writeVarInt(rows.size, true)
    rows.foreach(RowBytes.write(_, out))
    out.toBytes
  }

  override def deserialize(bytes: Array[Byte]): Rows = {
    val (in, rows) = (new Input(bytes), createAggregationBuffer())
    (0 until in.readVarInt(true)).foreach(_ => rows += RowBytes.read(in, children.size))
    rows
  }

  override def nullable: Boolean = false
  override def dataType: DataType = ArrayType(children.head.dataType, containsNull = false)
  override def prettyName: String = "first_rows"
  override def withNewMutableAggBufferOffset(at: Int): FirstRows = copy(mutableAggBufferOffset = at)
  override def withNewInputAggBufferOffset(at: Int): FirstRows = copy(inputAggBufferOffset = at)
  override protected def withNewChildrenInternal(next: IndexedSeq[Expression]): FirstRows =
    copy(children = next)
}

object FirstRows {
  /** Builds the aggregate as a column. Called from Python. */
  final class Builder(row: Column, n: Int) {
    private val orders = mutable.ArrayBuffer.empty[(Column, String)]

    /** Adds a value to order by. */
    def by(value: Column, direction: String): Builder = {
      orders += ((value, direction))
      this
    }

    def column: Column = {
      val children = (row +: orders.map(_._1).toSeq).map(ExpressionUtils.expression)
      ExpressionUtils.column(FirstRows(children, orders.map(_._2).toSeq, n).toAggregateExpression())
    }
  }

  def of(row: Column, n: Int): Builder = new Builder(row, n)

  private def order(value: Expression, words: String): SortOrder = {
    val direction = if (words.startsWith("desc")) Descending else Ascending
    val nulls =
      if (words.endsWith("nulls first")) NullsFirst
      else if (words.endsWith("nulls last")) NullsLast
      else direction.defaultNullOrdering
    SortOrder(value, direction, nulls, Nil)
  }
}
