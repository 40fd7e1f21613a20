package org.apache.spark.sql.headrace.operators.state

import scala.collection.mutable

/** The state of one key in memory. */
final class MemoryStore extends SlotStore {
  private val slots = mutable.TreeMap.empty[Long, Array[Byte]]
  override var age: Array[Byte] = _
  private val timers = mutable.TreeSet.empty[Long]

  override def get(slot: Long): Array[Byte] = slots.getOrElse(slot, null)
  override def put(slot: Long, value: Array[Byte]): Unit = slots.put(slot, value)
  override def remove(slot: Long): Unit = slots.remove(slot)
  override def all: Iterator[(Long, Array[Byte])] = slots.toVector.iterator
  override def forget(): Unit = {
    slots.clear()
    timers.clear()
    age = null
  }
  override def wake(millis: Long): Unit = timers += millis
  override def cancel(millis: Long): Unit = timers -= millis

  /** Timers that have come, taken out, the first one first. */
  def due(millis: Long): Seq[Long] = {
    val come = timers.rangeTo(millis).toVector
    timers --= come
    come
  }

  def size: Int = slots.size

  /** Another store with the same content; no bytes are shared. */
  def copied: MemoryStore = {
    val other = new MemoryStore
    slots.foreach { case (slot, value) => other.slots.put(slot, value.clone()) }
    other.timers ++= timers
    other.age = if (age == null) null else age.clone()
    other
  }
}
