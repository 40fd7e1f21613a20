/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.{Encoders, Row}
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.types.{StructField, StructType}

/** Runs a step's per-key logic on Spark's state: one entry for each key and open window. */
final class WindowProcessor(val step: Step, counts: Counts)
    extends StatefulProcessor[Row, InternalRow, InternalRow] {
  @transient private var store: SparkStore = _
  @transient private lazy val logic = step.logic(counts)
  @transient private lazy val out = new Rows(step.layout, step.spec.kind)
  @transient private lazy val toCatalyst = CatalystTypeConverters.createToCatalystConverter(
    StructType(step.keys.map(k => StructField(k.name, k.dataType))))

  override def init(output: OutputMode, time: TimeMode): Unit = {
    val handle = getHandle
    counts.begin(handle)
    store = new SparkStore(
      handle,
      handle.getMapState("windows", Encoders.scalaLong, Encoders.BINARY, TTLConfig.NONE),
      null,
      if (step.spec.ttl > 0) handle.getValueState("age", Encoders.BINARY, TTLConfig.NONE) else null)
  }

  override def handleInputRows(key: Row, rows: Iterator[InternalRow], times: TimerValues): Iterator[InternalRow] = {
    logic.rows(internal(key), store, step.events(rows), now(times), out)
    out.take()
  }

  override def handleExpiredTimer(key: Row, times: TimerValues, timer: ExpiredTimerInfo): Iterator[InternalRow] = {
    logic.visit(internal(key), store, timer.getExpiryTimeInMs(), now(times), out)
    out.take()
  }

  /** Without key columns Spark's key is a constant, which is none of ours. */
  private def internal(key: Row): InternalRow =
    if (step.keys.isEmpty) InternalRow.empty else toCatalyst(key).asInstanceOf[InternalRow]

  private def now(times: TimerValues): Now = {
    val clock = Time.micros(times.getCurrentProcessingTimeInMs())
    val watermark = Time.watermark(times.getCurrentWatermarkInMs())
    Now(if (step.spec.clockTime) math.max(clock, watermark) else watermark, clock)
  }
}

/** One key's part of Spark's state; which key, Spark knows. */
final class SparkStore(
    handle: StatefulProcessorHandle,
    slots: MapState[Long, Array[Byte]],
    list: ListState[Array[Byte]],
    ages: ValueState[Array[Byte]] = null) extends Store {
  override def get(slot: Long): Array[Byte] = slots.getValue(slot)
  override def put(slot: Long, value: Array[Byte]): Unit = slots.updateValue(slot, value)
  override def remove(slot: Long): Unit = slots.removeKey(slot)
  override def all: Iterator[(Long, Array[Byte])] = slots.iterator().toVector.iterator
  override def waiting: Iterator[Array[Byte]] = list.get()
  override def append(rows: Seq[Array[Byte]]): Unit = if (rows.nonEmpty) list.appendList(rows.toArray)
  override def replace(rows: Seq[Array[Byte]]): Unit = if (rows.isEmpty) list.clear() else list.put(rows.toArray)
  override def age: Array[Byte] = ages.get()
  override def age_=(value: Array[Byte]): Unit = ages.update(value)
  override def forget(): Unit = {
    slots.clear()
    if (list != null) list.clear()
    ages.clear()
    handle.listTimers().toVector.foreach(handle.deleteTimer)
  }
  override def wake(millis: Long): Unit = handle.registerTimer(millis)
}
