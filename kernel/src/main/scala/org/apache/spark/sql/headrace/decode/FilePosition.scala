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
 * Position of a line in a file: `struct<partition string, offset bigint>`. The offset is the start byte of
 * the block plus the line's index in it: the line number of an unsplit file; in a split file still ascending,
 * with gaps. Valid only directly above the scan.
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

  /** Position of the current row; must be called once per row. */
  def next(): InternalRow = {
    val current = InputFileBlockHolder.getInputFilePath
    val from = Math.max(InputFileBlockHolder.getStartOffset, 0L)
    if (from == start && current.equals(file)) ordinal += 1
    else {
      // the holder may reuse the text
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

  /** The column. Called from Python. */
  def column(): Column = ExpressionUtils.column(FilePosition())
}
