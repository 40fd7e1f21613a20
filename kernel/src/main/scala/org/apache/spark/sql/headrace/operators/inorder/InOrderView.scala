package org.apache.spark.sql.headrace.operators.inorder

import org.apache.spark.sql.headrace.operators.keyed.StateView
import org.apache.spark.sql.types.{StructType, TimestampType}
import org.apache.spark.sql.{Dataset, Row}

/** Decodes the state of an in-order step from the entries of the state variable `matches`. */
abstract class InOrderView(step: InOrderStep) extends StateView(step) {
  protected val matcher: Matcher

  def waiting(entries: Dataset[Row]): Dataset[Row] = {
    val shape = new StructType().add("key", keyType).add("time", TimestampType).add("row", rowType)
    decode(entries, shape) { (key, slot, stored) =>
      InOrderLogic.readRows(slot, stored, step.fingerprint, matcher)
        .map(held => Row(key, time(held.time), toRow(step.columns.storedRow(held.row))))
    }
  }

  /** Decodes the matcher's memory of each key that has one. */
  protected def decodeMemory(entries: Dataset[Row], shape: StructType)(
      rowsOf: (Row, matcher.Memory) => IterableOnce[Row]): Dataset[Row] =
    decode(entries, shape) { (key, slot, stored) =>
      val memory = if (slot != 0) None else InOrderLogic.readSlot(stored, step.fingerprint, matcher)._1
      memory.iterator.flatMap(rowsOf(key, _))
    }
}
