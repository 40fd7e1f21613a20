package org.apache.spark.sql.headrace.operators.inorder

import org.apache.spark.sql.catalyst.CatalystTypeConverters.createToScalaConverter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.keyed.StepColumns
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Encoders, Row}

/** Decodes the state of an in-order step from the entries of the state variable `matches`. */
abstract class InOrderView(step: InOrderStep) {
  /** Returns the buffered rows. */
  def waiting(entries: Dataset[Row]): Dataset[Row] = {
    val declared = step
    val shape = new StructType().add("key", step.columns.keyType).add("time", TimestampType)
      .add("row", StepColumns.struct(step.columns.visible))
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val reader = new InOrderReader(declared)
      rows.flatMap(row => reader.waiting(row.getStruct(0), row.getLong(1), row.getAs[Array[Byte]](2)))
    }(Encoders.row(shape))
  }
}

/** Decodes stored bytes. */
class InOrderReader(step: InOrderStep) {
  protected val time: Any => Any = createToScalaConverter(TimestampType)
  private val shown = createToScalaConverter(StepColumns.struct(step.columns.visible))
  private lazy val matcher = step.matcher()

  def waiting(key: Row, slot: Long, stored: Array[Byte]): Iterator[Row] = InOrderLogic
    .bufferedIn(slot, stored, step.fingerprint, matcher).map { held =>
      Row(keyRow(key), time(held.time), row(step.columns.storedRow(held.row).copy()))
    }

  protected def row(of: InternalRow): Row = shown(of).asInstanceOf[Row]

  /** Without key columns Spark's key is a constant; hide it. */
  protected def keyRow(key: Row): Row = if (step.columns.keys.isEmpty) Row.empty else key
}
