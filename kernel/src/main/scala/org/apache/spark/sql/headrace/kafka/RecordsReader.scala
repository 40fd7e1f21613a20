package org.apache.spark.sql.headrace.kafka

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.headrace.compat.kafka.{FetcherPool, KafkaFetch, RecordColumns}
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Reads a range of offsets of one partition. The fast reader handles only the success path; on any fetch
 * error Spark's reader takes over the rest of the range, retries and reports errors.
 */
private class RecordsReader(split: KafkaBatchInputPartition, kafka: PartitionReaderFactory)
    extends PartitionReader[ColumnarBatch] {
  private val range = split.offsetRange
  private val topic = range.topicPartition
  private val rows = new RecordColumns(s"${topic.topic}-${topic.partition}")
  private val records =
    if (!KafkaFetch.isUsable) null
    else FetcherPool.take(split.executorKafkaParams, topic, range.fromOffset, split.pollTimeoutMs)
  private var sparkReader: PartitionReader[InternalRow] = _

  override def next(): Boolean = {
    rows.clear()
    sparkReader == null && records != null && records.take(range.untilOffset, rows) ||
    position < range.untilOffset && nextFromSpark()
  }

  override def get(): ColumnarBatch = rows.batch

  override def close(): Unit = {
    if (records != null) FetcherPool.release(records)
    if (sparkReader != null) sparkReader.close()
    rows.close()
  }

  private def nextFromSpark(): Boolean = {
    if (sparkReader == null) sparkReader = kafka.createReader(rest)
    while (rows.count < RecordsReader.FallbackRows && sparkReader.next()) {
      val row = sparkReader.get() // key, value, topic, partition, offset, ...
      rows.add(row.getLong(4), if (row.isNullAt(1)) null else row.getBinary(1))
    }
    rows.count > 0
  }

  private def position: Long = if (records == null) range.fromOffset else records.position

  private def rest: KafkaBatchInputPartition = split.copy(
    range.copy(topic, position, range.untilOffset, range.preferredLoc), split.executorKafkaParams,
    split.pollTimeoutMs, split.failOnDataLoss, split.includeHeaders)
}

private object RecordsReader {
  /** Batch size of rows from Spark's reader. */
  private val FallbackRows = 256
}
