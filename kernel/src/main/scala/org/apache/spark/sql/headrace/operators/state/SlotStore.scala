package org.apache.spark.sql.headrace.operators.state

/** State of one key: numbered slots and timers. */
trait SlotStore {
  def get(slot: Long): Array[Byte]
  def put(slot: Long, value: Array[Byte]): Unit
  def remove(slot: Long): Unit
  def all: Iterator[(Long, Array[Byte])]

  /** Variants for slots with a known due time, by which a store may order them. */
  def get(slot: Long, due: Long): Array[Byte] = get(slot)
  def put(slot: Long, value: Array[Byte], due: Long): Unit = put(slot, value)

  /** The slot that a timer call is for, if the store knows it; the store removes it. */
  def dueSlot: Option[(Long, Array[Byte])] = None

  /** When rows last arrived, as encoded by `KeyAge`; used only with a TTL. */
  def age: Array[Byte]
  def age_=(value: Array[Byte]): Unit

  /** Removes all state and timers of the key. */
  def clear(): Unit

  /** Sets a timer, in milliseconds of the step's time. */
  def setTimer(millis: Long): Unit

  /** Cancels a timer. A store without support makes a redundant timer call instead. */
  def cancelTimer(millis: Long): Unit = ()
}

