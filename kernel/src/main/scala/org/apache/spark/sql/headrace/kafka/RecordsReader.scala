package org.apache.spark.sql.headrace.kafka

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * The records of a range of offsets of one partition.
 *
 * Where Kafka doesn't give what was asked for (records are gone, don't come in time, a server went away) Spark's own reader
 * has the word for the rest of the range: it tries again, and knows what is an error and what may be skipped.
 */
private class RecordsReader(part: KafkaBatchInputPartition, kafka: PartitionReaderFactory)
  extends PartitionReader[ColumnarBatch] {
  private val range = part.offsetRange
  private val topic = range.topicPartition
  private val rows = new RecordColumns(s"${topic.topic}-${topic.partition}")
  private val fetched = FetcherPool.take(part.executorKafkaParams, topic, range.fromOffset, part.pollTimeoutMs)
  private var sparks: PartitionReader[InternalRow] = _

  override def next(): Boolean = {
    rows.clear()
    sparks == null && fetched.take(range.untilOffset, rows) || fetched.position < range.untilOffset && sparksNext()
  }

  override def get(): ColumnarBatch = rows.batch

  override def close(): Unit = {
    FetcherPool.give(fetched)
    if (sparks != null) sparks.close()
    rows.close()
  }

  private def sparksNext(): Boolean = {
    if (sparks == null) sparks = kafka.createReader(rest)
    while (rows.count < RecordsReader.Some && sparks.next()) {
      val row = sparks.get() // key, value, topic, partition, offset and more
      rows.add(row.getLong(4), if (row.isNullAt(1)) null else row.getBinary(1))
    }
    rows.count > 0
  }

  private def rest: KafkaBatchInputPartition = part.copy(
    range.copy(topic, fetched.position, range.untilOffset, range.preferredLoc),
    part.executorKafkaParams, part.pollTimeoutMs, part.failOnDataLoss, part.includeHeaders)
}

private object RecordsReader {
  /** Records that Spark's reader has read are handed on together. */
  private val Some = 256
}
