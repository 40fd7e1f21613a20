package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.{AgnosticEncoder, ExpressionEncoder, RowEncoder}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.compat.CompatCheck
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator, ExprCode, FalseLiteral}

/** Encodes keys as `InternalRow`, so that no key is converted between operator and state. */
object KeyEncoder {
  def encoder(keys: Seq[Attribute]): ExpressionEncoder[Any] = {
    val schema = StructType(keys.map(k => StructField(k.name, k.dataType)))
    val row = BoundReference(0, ObjectType(classOf[InternalRow]), nullable = false)
    val columns = keys.zipWithIndex.flatMap { case (k, i) =>
      Seq(Literal(k.name), RowColumn(row, i, k.dataType))
    }
    ExpressionEncoder(
      RowEncoder.encoderFor(schema).asInstanceOf[AgnosticEncoder[Any]], CreateNamedStruct(columns), RowCopy())
  }
}

/** Keys as rows: Spark must accept an encoder of `InternalRow` and leave the bytes unchanged. */
object KeyEncoding extends CompatCheck {
  override val target: String = classOf[ExpressionEncoder[_]].getName
  override val fallback: Option[String] = None

  override protected def verify(): Unit = {
    val columns = Seq(AttributeReference("k", StringType)(), AttributeReference("n", IntegerType)())
    val key = UnsafeProjection.create(columns.map(_.dataType).toArray)
      .apply(InternalRow(UTF8String.fromString("key"), 7)).copy()
    require(KeyEncoder.encoder(columns).createSerializer().apply(key) == key, "keys are re-encoded")
  }
}

/** Copies the input row into an object; Spark reuses the memory of keys. */
case class RowCopy() extends LeafExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = ObjectType(classOf[InternalRow])
  override def eval(input: InternalRow): Any = input.copy()
  override protected def doGenCode(context: CodegenContext, code: ExprCode): ExprCode = code
    .copy(code = code"final InternalRow ${code.value} = ${context.INPUT_ROW}.copy();", isNull = FalseLiteral)
}

/** The input row as an object, without conversion. */
case class WholeRow() extends LeafExpression {
  override def nullable: Boolean = false
  override def dataType: DataType = ObjectType(classOf[InternalRow])
  override def eval(input: InternalRow): Any = input
  override protected def doGenCode(context: CodegenContext, code: ExprCode): ExprCode = code
    .copy(code = code"final InternalRow ${code.value} = ${context.INPUT_ROW};", isNull = FalseLiteral)
}

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
