package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.{AgnosticEncoder, ExpressionEncoder, RowEncoder}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, ObjectType, StructField, StructType}

/** Encodes keys as `InternalRow`, so that no key is converted between operator and state. */
object KeyEncoder {
  def encoder(keys: Seq[Attribute]): ExpressionEncoder[Any] = {
    val schema = StructType(keys.map(k => StructField(k.name, k.dataType)))
    val row = BoundReference(0, ObjectType(classOf[InternalRow]), nullable = false)
    val columns = keys.zipWithIndex.flatMap { case (k, i) => Seq(Literal(k.name), RowColumn(row, i, k.dataType)) }
    ExpressionEncoder(
      RowEncoder.encoderFor(schema).asInstanceOf[AgnosticEncoder[Any]], CreateNamedStruct(columns), RowCopy())
  }
}

/** Copies the input row into an object; Spark reuses the memory of keys. */
case class RowCopy() extends LeafExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = ObjectType(classOf[InternalRow])
  override def eval(input: InternalRow): Any = input.copy()
  override protected def doGenCode(context: CodegenContext, code: ExprCode): ExprCode = code.copy(
    code = code"final InternalRow ${code.value} = ${context.INPUT_ROW}.copy();", isNull = FalseLiteral)
}
