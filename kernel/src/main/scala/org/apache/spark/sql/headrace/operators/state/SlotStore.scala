package org.apache.spark.sql.headrace.operators.state

/** The state of one key: numbered slots and timers. */
trait SlotStore {
  def get(slot: Long): Array[Byte]
  def put(slot: Long, value: Array[Byte]): Unit
  def remove(slot: Long): Unit
  def all: Iterator[(Long, Array[Byte])]

  /** The same for slots whose next visit is known: a store may keep them in that order. */
  def get(slot: Long, due: Long): Array[Byte] = get(slot)
  def put(slot: Long, value: Array[Byte], due: Long): Unit = put(slot, value)

  /** The slot that a visit is for, where the store knows it; the store takes it out by itself. */
  def come: Option[(Long, Array[Byte])] = None

  /** When rows last came for the key, as `KeyAge` writes it; only where keys are forgotten. */
  def age: Array[Byte]
  def age_=(value: Array[Byte]): Unit

  /** Drops all of the key's state, timers included. */
  def forget(): Unit

  /** Asks for a visit when the step's time is at this millisecond. */
  def wake(millis: Long): Unit

  /** Takes back what `wake` asked for; a store that doesn't know how visits in vain. */
  def cancel(millis: Long): Unit = ()
}

