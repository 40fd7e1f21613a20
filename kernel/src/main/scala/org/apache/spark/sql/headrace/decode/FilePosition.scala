package org.apache.spark.sql.headrace.decode

import org.apache.spark.rdd.InputFileBlockHolder
import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, LeafExpression, Nondeterministic}
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Where a line of a file stands: `struct<partition string, offset bigint>`, the file and a number that rises with the
 * lines. The number is the first byte of the block the line was read in plus the line's ordinal in the block: the line
 * number, counted from 0, of a file that is read whole; in a file that is split still rising, because a line has at least
 * one byte, but with gaps. Only right straight above the scan, where every row of the block passes.
 */
case class FilePosition() extends LeafExpression with Nondeterministic {
  @transient private var file: UTF8String = _
  @transient private var start: Long = _
  @transient private var ordinal: Long = _

  override def dataType: DataType = FilePosition.schema
  override def nullable: Boolean = false
  override def prettyName: String = "file_position"
  override def stateful: Boolean = true

  override protected def initializeInternal(partitionIndex: Int): Unit = restart()

  override protected def evalInternal(input: InternalRow): Any = next()

  def restart(): Unit = {
    file = null
    ordinal = 0L
  }

  /** The position of the row that is being read; call it once for each row. */
  def next(): InternalRow = {
    val current = InputFileBlockHolder.getInputFilePath
    val from = Math.max(InputFileBlockHolder.getStartOffset, 0L)
    if (from == start && current.equals(file)) ordinal += 1
    else {
      // the holder's text may be reused for the next file
      file = current.clone()
      start = from
      ordinal = 0L
    }
    new GenericInternalRow(Array[Any](file, start + ordinal))
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val self = ctx.addReferenceObj("position", this, classOf[FilePosition].getName)
    ctx.addPartitionInitializationStatement(s"$self.restart();")
    ev.copy(code = code"InternalRow ${ev.value} = $self.next();", isNull = FalseLiteral)
  }
}

object FilePosition {
  val schema: StructType = StructType.fromDDL("partition string NOT NULL, offset bigint NOT NULL")

  /** The column; called from Python. */
  def column(): Column = ExpressionUtils.column(FilePosition())
}
