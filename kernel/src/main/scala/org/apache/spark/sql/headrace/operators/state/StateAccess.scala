package org.apache.spark.sql.headrace.operators.state

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.{DriverStatefulProcessorHandleImpl, StatefulProcessorHandleImpl}
import org.apache.spark.sql.headrace.compat.CompatCheck
import org.apache.spark.sql.streaming.{StatefulProcessorHandle, TimeMode, TTLConfig}

/**
 * The state of a step: a map of slots, and with a TTL the age of each key.
 *
 * @param dueByTime true if each slot has a known due time, so that the store can order slots by it
 */
final case class StateLayout(variable: String, keys: ExpressionEncoder[Any], dueByTime: Boolean = false,
    hasAge: Boolean = false)

trait StateAccess {
  /** Declares the state variables on the driver. */
  def declare(handle: DriverStatefulProcessorHandleImpl, layout: StateLayout): Unit

  /** Opens the state in a task. */
  def open(handle: StatefulProcessorHandleImpl, time: TimeMode, layout: StateLayout): SlotStore
}

object StateAccess {
  def of(layout: StateLayout): StateAccess =
    if (layout.dueByTime && DueStoreAccess.isUsable && !CompatCheck.isPlain) DueStoreAccess
    else PublicStateAccess
}

/** State through Spark's public API. */
object PublicStateAccess extends StateAccess {
  override def declare(handle: DriverStatefulProcessorHandleImpl, layout: StateLayout): Unit =
    new PublicStore(handle, layout, hasTimers = false)
  override def open(handle: StatefulProcessorHandleImpl, time: TimeMode, layout: StateLayout): SlotStore =
    new PublicStore(handle, layout, hasTimers = time != TimeMode.None())
}

/** State of the current key in Spark's map state and timers; a step without time has none. */
private final class PublicStore(handle: StatefulProcessorHandle, layout: StateLayout, hasTimers: Boolean)
    extends SlotStore {
  private val slots = handle.getMapState(layout.variable, Encoders.scalaLong, Encoders.BINARY, TTLConfig.NONE)
  private val ages =
    if (!layout.hasAge) null else handle.getValueState("age", Encoders.BINARY, TTLConfig.NONE)

  override def get(slot: Long): Array[Byte] = slots.getValue(slot)
  override def put(slot: Long, value: Array[Byte]): Unit = slots.updateValue(slot, value)
  override def remove(slot: Long): Unit = slots.removeKey(slot)
  override def all: Iterator[(Long, Array[Byte])] = slots.iterator().toVector.iterator
  override def age: Array[Byte] = ages.get()
  override def age_=(value: Array[Byte]): Unit = ages.update(value)
  override def clear(): Unit = {
    slots.clear()
    ages.clear()
    handle.listTimers().toVector.foreach(handle.deleteTimer)
  }
  override def setTimer(millis: Long): Unit = if (hasTimers) handle.registerTimer(millis)
  override def cancelTimer(millis: Long): Unit = if (hasTimers) handle.deleteTimer(millis)
}
