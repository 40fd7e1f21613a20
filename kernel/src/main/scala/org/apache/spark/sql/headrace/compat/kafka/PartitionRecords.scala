package org.apache.spark.sql.headrace.compat.kafka

import java.util.concurrent.TimeUnit
import java.util.{Collections => JCollections, Iterator => JIterator, Map => JMap}

import org.apache.kafka.common.record.{DefaultRecordBatch, MemoryRecords, RecordBatch}
import org.apache.kafka.common.requests.FetchResponse
import org.apache.kafka.common.{KafkaException, TopicPartition}

/** Reads the records of one partition in order, with prefetched batches. */
private[headrace] final class PartitionRecords(val params: JMap[String, Object],
    val partition: TopicPartition, timeoutMs: Long) {
  private var fetcher: PartitionFetcher = _
  private val reader = new RecordBatchReader
  private var batches: JIterator[_ <: RecordBatch] = JCollections.emptyIterator[RecordBatch]
  private var transactions: AbortedTransactions = _

  /** Offset of the next record. */
  var position: Long = -1L

  /** False after an error; Spark's reader takes over. */
  var usable = true
  @volatile var idleSince = 0L

  /** True if the prefetched response may have expired. */
  def stale: Boolean = fetcher == null ||
    System.nanoTime() - idleSince > TimeUnit.MILLISECONDS.toNanos(fetcher.maxIdleMs)

  def seek(offset: Long): Unit = {
    batches = JCollections.emptyIterator[RecordBatch]
    reader.skip(offset)
    position = offset
  }

  /** Adds the next records before `until`; false at `until`, or if there are none. */
  def take(until: Long, rows: RecordColumns): Boolean = {
    while (rows.count == 0 && position < until && usable)
      if (position >= reader.end) advance()
      else {
        reader.copy(position, until, rows)
        // offsets have gaps: transaction markers and compaction
        position = math.min(reader.end, until)
      }
    rows.count > 0
  }

  def close(): Unit = {
    if (fetcher != null) fetcher.close()
    reader.close()
  }

  /** Advances to the next batch or fetch response. */
  private def advance(): Unit = {
    usable = false
    try usable = if (batches.hasNext) open(batches.next()) else fetch()
    catch {
      case _: KafkaException =>
      case _: LinkageError => // kafka-clients of another version than the declarations
    }
  }

  private def open(batch: RecordBatch): Boolean = batch match {
    case batch: DefaultRecordBatch =>
      batch.ensureValid()
      if (transactions.hide(batch)) reader.skip(batch.nextOffset) else reader.open(batch)
      true
    case _ => false // message format before Kafka 0.11
  }

  /** Fetches, and requests the next batches in advance. */
  private def fetch(): Boolean = {
    if (fetcher == null) fetcher = new PartitionFetcher(params, partition)
    val response = fetcher.fetch(position, timeoutMs)
    FetchResponse.recordsOrFail(response) match {
      case records: MemoryRecords =>
        transactions = AbortedTransactions.of(response.abortedTransactions)
        batches = records.batches.iterator
        var end = position
        records.batches.forEach(batch => end = batch.nextOffset)
        fetcher.sendRequest(end)
        true
      case _ => false
    }
  }
}
