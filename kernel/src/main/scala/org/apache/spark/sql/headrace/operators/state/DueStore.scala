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
 * Slots in the order in which they are due, over all keys of a partition. A window whose bounds follow from the time
 * is visited at its end and at the end of its lateness, and both are known without a look at the state, so the state
 * is its own list of timers. Spark's timers would cost two more entries for each visit.
 *
 * @param width how many columns a key has
 */
final class DueStore(handle: StatefulProcessorHandle, store: StateStore, width: Int)
    extends RowStore(handle, store, null, null) with DueKeys {
  override protected val slots: SlotRow = new SlotRow(3)
  private var found: (Long, Array[Byte]) = _
  // Nothing is due before; in real time it is asked after every row.
  private var upcoming = Long.MinValue

  override def get(slot: Long, due: Long): Array[Byte] = read(slots.at(slot, due))
  override def put(slot: Long, value: Array[Byte], due: Long): Unit = {
    upcoming = math.min(upcoming, due)
    write(slots.at(slot, due), value)
  }
  override def come: Option[(Long, Array[Byte])] = Option(found)
  override def remove(slot: Long): Unit = ()
  override def wake(millis: Long): Unit = ()

  /** The keys and times of slots that are due; what is visited is taken out when all have been. */
  override def expired(until: Long): Iterator[(Any, Long)] =
    if (until < upcoming) Iterator.empty
    else {
      upcoming = Long.MaxValue
      scanned(until)
    }

  private def scanned(until: Long): Iterator[(Any, Long)] = new NextIterator[(Any, Long)] {
    private val scan = store.rangeScan(None, None, RowStore.Name)
    private var first, last: UnsafeRow = _

    override protected def getNext(): (Any, Long) = {
      val pair = if (scan.hasNext) scan.next() else null
      if (pair == null || pair.key.getLong(2) > until) {
        finished = true
        if (pair != null) upcoming = math.min(upcoming, pair.key.getLong(2))
        found = null
        null
      } else {
        last = pair.key.copy()
        if (first == null) first = last
        found = SlotRow.slot(last) -> pair.value.getBinary(0)
        (last.getStruct(0, width), last.getLong(2))
      }
    }

    // What the visits have put back is due later, so it is not in between.
    override protected def close(): Unit = {
      scan.close()
      if (last ne first) store.deleteRange(first, last, RowStore.Name)
      if (last != null) store.remove(last, RowStore.Name)
    }
  }
}

object DueStore {
  private val value = Encoders.BINARY.schema

  /** The columns of a slot's key: those of Spark's map variable, which its readers look for, and the time it is due. */
  private def schema(key: StructType): StructType = new StructType()
    .add("key", key).add("userKey", Encoders.scalaLong.schema).add("due", LongType, nullable = false)

  private def spec(key: StructType) = RangeKeyScanStateEncoderSpec(schema(key), Seq(2))

  /** Tells Spark the layout, for the checkpoint's schemas; its map variable is registered already. */
  def declare(handle: DriverStatefulProcessorHandleImpl, key: StructType): Unit = {
    val schemas = handle.columnFamilySchemas
    val declared = schemas(RowStore.Name)
    schemas.put(RowStore.Name, declared.copy(keySchema = schema(key), keyStateEncoderSpec = Some(spec(key))))
  }

  def open(handle: StatefulProcessorHandle, store: StateStore, key: StructType): DueStore = {
    ColumnFamilies.ensure(store, RowStore.Name, schema(key), value, spec(key))
    ColumnFamilies.timers(store, TimeMode.EventTime(), key) // empty, but part of the checkpoint as Spark knows it
    new DueStore(handle, store, key.length)
  }
}
