package org.apache.spark.sql.headrace.kafka

import java.util.concurrent.TimeUnit
import java.util.{Collections => JCollections, Iterator => JIterator, Map => JMap}

import org.apache.kafka.common.record.{DefaultRecordBatch, MemoryRecords, RecordBatch}
import org.apache.kafka.common.requests.FetchResponse
import org.apache.kafka.common.{KafkaException, TopicPartition}

/** The records of one partition, in order, with those that have been fetched and that nobody has taken yet. */
private final class PartitionRecords(val params: JMap[String, Object], val partition: TopicPartition, timeoutMs: Long) {
  private var link: PartitionFetcher = _
  private val unpacked = new RecordBatchReader
  private var batches: JIterator[_ <: RecordBatch] = JCollections.emptyIterator[RecordBatch]
  private var transactions: AbortedTransactions = _

  /** All before this offset has been taken. */
  var position: Long = -1L
  /** Whether Kafka has given all that it was asked for. */
  var usable = true
  /** When it was given back. */
  @volatile var idleSince = 0L

  /** Whether it has been idle for too long to go on. */
  def stale: Boolean = link == null || System.nanoTime() - idleSince > TimeUnit.MILLISECONDS.toNanos(link.patienceMs)

  def seek(offset: Long): Unit = {
    batches = JCollections.emptyIterator[RecordBatch]
    unpacked.skip(offset)
    position = offset
  }

  /** Adds the next records before `until`; false where `position` is there already, or Kafka didn't give any. */
  def take(until: Long, rows: RecordColumns): Boolean = {
    while (rows.count == 0 && position < until && usable)
      if (position >= unpacked.end) advance()
      else {
        unpacked.copy(position, until, rows)
        // offsets may have gaps: markers of transactions, and what compaction took away
        position = math.min(unpacked.end, until)
      }
    rows.count > 0
  }

  def close(): Unit = {
    if (link != null) link.close()
    unpacked.close()
  }

  /** To the next batch, or the next answer of Kafka's. */
  private def advance(): Unit = {
    usable = false
    try usable = if (batches.hasNext) open(batches.next()) else fetch()
    catch {
      case _: KafkaException =>
      case _: LinkageError => // a client of another version than the one that was declared to the compiler
    }
  }

  private def open(batch: RecordBatch): Boolean = batch match {
    case batch: DefaultRecordBatch =>
      batch.ensureValid()
      if (transactions.hide(batch)) unpacked.skip(batch.nextOffset) else unpacked.open(batch)
      true
    case _ => false // a format from before Kafka 0.11
  }

  /** While its batches are unpacked, Kafka gets the next ones ready. */
  private def fetch(): Boolean = {
    if (link == null) link = new PartitionFetcher(params, partition)
    val answer = link.fetch(position, timeoutMs)
    FetchResponse.recordsOrFail(answer) match {
      case records: MemoryRecords =>
        transactions = AbortedTransactions.of(answer.abortedTransactions)
        batches = records.batches.iterator
        var end = position
        records.batches.forEach(batch => end = batch.nextOffset)
        link.ask(end)
        true
      case _ => false
    }
  }
}
