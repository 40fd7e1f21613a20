package org.apache.spark.sql.headrace.operators.state

import scala.collection.mutable

/** In-memory state of one key. */
final class MemoryStore extends SlotStore {
  private val slots = mutable.TreeMap.empty[Long, Array[Byte]]
  override var age: Array[Byte] = _
  private val timers = mutable.TreeSet.empty[Long]

  override def get(slot: Long): Array[Byte] = slots.getOrElse(slot, null)
  override def put(slot: Long, value: Array[Byte]): Unit = slots.put(slot, value)
  override def remove(slot: Long): Unit = slots.remove(slot)
  override def all: Iterator[(Long, Array[Byte])] = slots.toVector.iterator
  override def clear(): Unit = {
    slots.clear()
    timers.clear()
    age = null
  }
  override def setTimer(millis: Long): Unit = timers += millis
  override def cancelTimer(millis: Long): Unit = timers -= millis

  /** Removes and returns the timers up to `millis`. */
  def due(millis: Long): Seq[Long] = {
    val expired = timers.rangeTo(millis).toVector
    timers --= expired
    expired
  }

  def size: Int = slots.size

  /** Returns a deep copy. */
  def deepCopy: MemoryStore = {
    val other = new MemoryStore
    slots.foreach { case (slot, value) => other.slots.put(slot, value.clone()) }
    other.timers ++= timers
    other.age = if (age == null) null else age.clone()
    other
  }
}
