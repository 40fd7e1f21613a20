package org.apache.spark.sql.headrace.kafka

import java.util.{Collections => JCollections, List => JList}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.kafka.common.message.FetchResponseData.AbortedTransaction
import org.apache.kafka.common.record.{ControlRecordType, RecordBatch}

/**
 * Tells which batches of an answer nobody is to see: markers of transactions, and what a transaction wrote that was aborted.
 *
 * Kafka names the aborted ones, by producer and first offset, to those who read what is committed, and nobody else. Batches
 * must be asked about in their order.
 */
private final class AbortedTransactions(begun: mutable.Queue[AbortedTransaction]) {
  private val aborted = mutable.Set.empty[Long]

  def hide(batch: RecordBatch): Boolean = {
    while (begun.headOption.exists(_.firstOffset <= batch.lastOffset)) aborted += begun.dequeue().producerId
    if (batch.isControlBatch && ends(batch)) aborted -= batch.producerId
    batch.isControlBatch || batch.isTransactional && aborted(batch.producerId)
  }

  /** Whether a marker tells that a transaction was aborted: the next one of the producer is another. */
  private def ends(marker: RecordBatch): Boolean = {
    val records = marker.iterator
    records.hasNext && ControlRecordType.parse(records.next().key) == ControlRecordType.ABORT
  }
}

private object AbortedTransactions {
  def of(aborted: JList[AbortedTransaction]): AbortedTransactions = {
    val named = if (aborted == null) JCollections.emptyList[AbortedTransaction] else aborted
    new AbortedTransactions(named.asScala.sortBy(_.firstOffset).to(mutable.Queue))
  }
}
