/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.streaming.{ListState, MapState, StatefulProcessorHandle}

/** One key's part of Spark's state, through Spark's own variables; which key, Spark knows. */
final class SparkStore(handle: StatefulProcessorHandle, slots: MapState[Long, Array[Byte]], list: ListState[Array[Byte]])
    extends Store {
  override def get(slot: Long): Array[Byte] = slots.getValue(slot)
  override def put(slot: Long, value: Array[Byte]): Unit = slots.updateValue(slot, value)
  override def remove(slot: Long): Unit = slots.removeKey(slot)
  override def all: Iterator[(Long, Array[Byte])] = slots.iterator().toVector.iterator
  override def waiting: Iterator[Array[Byte]] = list.get()
  override def append(rows: Seq[Array[Byte]]): Unit = if (rows.nonEmpty) list.appendList(rows.toArray)
  override def replace(rows: Seq[Array[Byte]]): Unit = if (rows.isEmpty) list.clear() else list.put(rows.toArray)
  override def age: Array[Byte] = null
  override def age_=(value: Array[Byte]): Unit = throw new UnsupportedOperationException("keys are kept for ever here")
  override def forget(): Unit = throw new UnsupportedOperationException("keys are kept for ever here")
  override def wake(millis: Long): Unit = handle.registerTimer(millis)
}
