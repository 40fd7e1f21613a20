package org.apache.spark.sql.headrace.operators.state

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.DriverStatefulProcessorHandleImpl
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.headrace.compat.{ColumnFamilies, DueKeys}
import org.apache.spark.sql.streaming.{StatefulProcessorHandle, TimeMode}
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.util.NextIterator

/**
 * Slots of all keys in a partition, ordered by due time. An aligned window is due at its end and at
 * the end of its lateness, so its state key doubles as its timer; Spark's timers would need two
 * more entries per visit.
 *
 * @param width number of key columns
 */
final class DueStore(handle: StatefulProcessorHandle, store: StateStore, width: Int)
    extends RowStore(handle, store, null, null) with DueKeys {
  override protected val slots: SlotRow = new SlotRow(3)
  private var dueEntry: (Long, Array[Byte]) = _
  // Lower bound of the next due time; real-time mode polls after every row.
  private var nextDue = Long.MinValue

  override def get(slot: Long, due: Long): Array[Byte] = read(slots.at(slot, due))
  override def put(slot: Long, value: Array[Byte], due: Long): Unit = {
    nextDue = math.min(nextDue, due)
    write(slots.at(slot, due), value)
  }
  override def dueSlot: Option[(Long, Array[Byte])] = Option(dueEntry)
  override def remove(slot: Long): Unit = ()
  override def setTimer(millis: Long): Unit = ()

  /** Iterates keys and due times up to `until`; the scanned range is deleted at the end. */
  override def expired(until: Long): Iterator[(Any, Long)] =
    if (until < nextDue) Iterator.empty
    else {
      nextDue = Long.MaxValue
      dueEntries(until)
    }

  private def dueEntries(until: Long): Iterator[(Any, Long)] = new NextIterator[(Any, Long)] {
    private val scan = store.rangeScan(None, None, RowStore.Name)
    private var first, last: UnsafeRow = _

    override protected def getNext(): (Any, Long) = {
      val pair = if (scan.hasNext) scan.next() else null
      if (pair == null || pair.key.getLong(2) > until) {
        finished = true
        if (pair != null) nextDue = math.min(nextDue, pair.key.getLong(2))
        dueEntry = null
        null
      } else {
        last = pair.key.copy()
        if (first == null) first = last
        dueEntry = SlotRow.slot(last) -> pair.value.getBinary(0)
        (last.getStruct(0, width), last.getLong(2))
      }
    }

    // Slots written meanwhile are due later, outside the deleted range.
    override protected def close(): Unit = {
      scan.close()
      if (last ne first) store.deleteRange(first, last, RowStore.Name)
      if (last != null) store.remove(last, RowStore.Name)
    }
  }
}

object DueStore {
  private val value = Encoders.BINARY.schema

  /**
   * Key columns of a slot: those of Spark's map state, which its state reader expects, and the due
   * time.
   */
  private def schema(key: StructType): StructType = new StructType()
    .add("key", key).add("userKey", Encoders.scalaLong.schema).add("due", LongType, nullable = false)

  private def spec(key: StructType) = RangeKeyScanStateEncoderSpec(schema(key), Seq(2))

  /**
   * Declares the layout to Spark for the checkpoint's schema files; the map state is already
   * registered.
   */
  def declare(handle: DriverStatefulProcessorHandleImpl, key: StructType): Unit = {
    val schemas = handle.columnFamilySchemas
    val declared = schemas(RowStore.Name)
    schemas.put(RowStore.Name, declared.copy(keySchema = schema(key), keyStateEncoderSpec = Some(spec(key))))
  }

  def open(handle: StatefulProcessorHandle, store: StateStore, key: StructType): DueStore = {
    ColumnFamilies.ensure(store, RowStore.Name, schema(key), value, spec(key))
    ColumnFamilies.timers(store, TimeMode.EventTime(), key) // empty, but Spark expects the column family
    new DueStore(handle, store, key.length)
  }
}
