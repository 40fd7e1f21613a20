package org.apache.spark.sql.headrace.operators.keyed

import org.apache.spark.sql.catalyst.CatalystTypeConverters.createToScalaConverter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{StructType, TimestampType}
import org.apache.spark.sql.{Dataset, Encoders, Row}

/**
 * Decodes the state of a step from the entries (`key`, `slot`, `bytes`) of its variable, as Spark's state
 * reader returns them. Tasks get a copy.
 */
abstract class StateView(step: KeyedStep) extends Serializable {
  protected val keyType: StructType = step.columns.keyType.asNullable
  protected val rowType: StructType = StepColumns.struct(step.columns.visible).asNullable

  @transient protected lazy val time: Any => Any = createToScalaConverter(TimestampType)
  @transient private lazy val convert = createToScalaConverter(rowType)

  /** Decodes each entry into rows of a shape. */
  protected def decode(entries: Dataset[Row], shape: StructType)(
      rowsOf: (Row, Long, Array[Byte]) => IterableOnce[Row]): Dataset[Row] = entries.flatMap((entry: Row) =>
    rowsOf(keyOf(entry), entry.getLong(1), entry.getAs[Array[Byte]](2)))(Encoders.row(shape))

  /** The key of an entry. Without key columns it is a constant in Spark; hide it. */
  protected def keyOf(entry: Row): Row = if (keyType.isEmpty) Row.empty else entry.getStruct(0)

  /** Converts a row of the user's columns. */
  protected def toRow(row: InternalRow): Row = convert(row).asInstanceOf[Row]
}
