package org.apache.spark.sql.headrace.operators.state

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import scala.collection.mutable

/** State of one key: numbered slots and timers. */
trait SlotStore {
  /** Selects the key of the following calls; Spark's own state API knows it. */
  def bind(key: UnsafeRow): Unit = ()
  def get(slot: Long): Array[Byte]
  def put(slot: Long, value: Array[Byte]): Unit
  def remove(slot: Long): Unit
  def all: Iterator[(Long, Array[Byte])]

  /** Variants for slots with a known due time, by which a store may order them. */
  def get(slot: Long, due: Long): Array[Byte] = get(slot)
  def put(slot: Long, value: Array[Byte], due: Long): Unit = put(slot, value)

  /** Requests a timer call at a time, in which `dueSlot` is this slot if the store knows it. */
  def mark(slot: Long, due: Long): Unit = setTimer(due)

  /** The slot that a timer call is for, if the store knows it; the store removes it. */
  def dueSlot: Option[(Long, Array[Byte])] = None

  /** When rows last arrived, as encoded by `KeyAge`; used only with a TTL. */
  def age: Array[Byte] = null
  def age_=(value: Array[Byte]): Unit = throw new UnsupportedOperationException("age")

  /** Removes all state and timers of the key. */
  def clear(): Unit

  /** Sets a timer, in milliseconds of the step's time. */
  def setTimer(millis: Long): Unit

  /** Cancels a timer. A store without support makes a redundant timer call instead. */
  def cancelTimer(millis: Long): Unit = ()
}

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

  def deepCopy: MemoryStore = {
    val other = new MemoryStore
    slots.foreach { case (slot, value) => other.slots.put(slot, value.clone()) }
    other.timers ++= timers
    other.age = if (age == null) null else age.clone()
    other
  }
}
