/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.kafka

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BaseGenericInternalRow
import org.apache.spark.sql.connector.read.{PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition
import org.apache.spark.unsafe.types.UTF8String

/**
 * The records of a range of offsets of one partition.
 *
 * Where Kafka doesn't give what was asked for (records are gone, or don't come in time) Spark's own reader has the word for
 * the rest of the range: it knows what is an error and what may be skipped.
 */
private class RecordsReader(part: KafkaBatchInputPartition, kafka: PartitionReaderFactory)
  extends PartitionReader[InternalRow] {
  private val range = part.offsetRange
  private val topic = range.topicPartition
  private val place = UTF8String.fromString(s"${topic.topic}-${topic.partition}")
  private val fetched = Consumers.take(part.executorKafkaParams, topic, range.fromOffset, part.pollTimeoutMs)
  private var sparks: PartitionReader[InternalRow] = _

  override def next(): Boolean = if (sparks != null) sparks.next() else fetched.next(range.untilOffset) || othersNext()

  /** A new row each time, and none is kept: the garbage collector makes it dear to change an old object for each record. */
  override def get(): InternalRow =
    if (sparks == null) new RecordRow(fetched.current.value, place, fetched.current.offset)
    else {
      val row = sparks.get() // key, value, topic, partition, offset and more
      new RecordRow(if (row.isNullAt(1)) null else row.getBinary(1), place, row.getLong(4))
    }

  override def close(): Unit = {
    Consumers.give(fetched)
    if (sparks != null) sparks.close()
  }

  /** There is no next record; whether Spark's reader finds one, unless the range is at its end. */
  private def othersNext(): Boolean = fetched.position < range.untilOffset && {
    val rest = range.copy(topic, fetched.position, range.untilOffset, range.preferredLoc)
    sparks = kafka.createReader(part.copy(
      rest, part.executorKafkaParams, part.pollTimeoutMs, part.failOnDataLoss, part.includeHeaders))
    sparks.next()
  }
}

/** A record as a row. */
private final class RecordRow(value: Array[Byte], place: UTF8String, offset: Long) extends BaseGenericInternalRow {
  override def numFields: Int = 3
  override def getBinary(i: Int): Array[Byte] = value
  override def getUTF8String(i: Int): UTF8String = place
  override def getLong(i: Int): Long = offset
  override def isNullAt(i: Int): Boolean = i == 0 && value == null
  override protected def genericGet(i: Int): Any = if (i == 0) value else if (i == 1) place else offset
  override def setNullAt(i: Int): Unit = throw new UnsupportedOperationException
  override def update(i: Int, value: Any): Unit = throw new UnsupportedOperationException
}
