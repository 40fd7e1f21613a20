package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.{Expression, LeafExpression, UnaryExpression}
import org.apache.spark.sql.types.{DataType, ObjectType}

/** The input row as an object, without conversion. */
case class WholeRow() extends LeafExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = ObjectType(classOf[InternalRow])
  override def eval(input: InternalRow): Any = input
  override protected def doGenCode(context: CodegenContext, code: ExprCode): ExprCode = code.copy(
    code = code"final InternalRow ${code.value} = ${context.INPUT_ROW};", isNull = FalseLiteral)
}

/** Reads one column of a row object. */
case class RowColumn(child: Expression, ordinal: Int, dataType: DataType) extends UnaryExpression {
  override def nullable: Boolean = true
  override def eval(input: InternalRow): Any = {
    val row = child.eval(input).asInstanceOf[InternalRow]
    if (row.isNullAt(ordinal)) null else row.get(ordinal, dataType)
  }
  override protected def doGenCode(context: CodegenContext, code: ExprCode): ExprCode = {
    val row = child.genCode(context)
    val read = CodeGenerator.getValue(s"((InternalRow) ${row.value})", dataType, ordinal.toString)
    code.copy(code = code"""
      ${row.code}
      final boolean ${code.isNull} = ((InternalRow) ${row.value}).isNullAt($ordinal);
      final ${CodeGenerator.javaType(dataType)} ${code.value} = ${code.isNull} ?
        ${CodeGenerator.defaultValue(dataType)} : $read;""")
  }
  override protected def withNewChildInternal(next: Expression): RowColumn = copy(child = next)
}
