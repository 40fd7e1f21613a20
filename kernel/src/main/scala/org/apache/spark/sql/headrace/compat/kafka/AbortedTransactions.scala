package org.apache.spark.sql.headrace.compat.kafka

import java.util.{Collections => JCollections, List => JList}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.kafka.common.message.FetchResponseData.AbortedTransaction
import org.apache.kafka.common.record.{ControlRecordType, RecordBatch}

/**
 * Determines which batches of a fetch response are hidden: transaction markers and records of aborted
 * transactions.
 *
 * With read_committed, Kafka returns the aborted transactions by producer and first offset. Batches must be
 * passed in order.
 */
private[headrace] final class AbortedTransactions(upcoming: mutable.Queue[AbortedTransaction]) {
  private val aborted = mutable.Set.empty[Long]

  def hide(batch: RecordBatch): Boolean = {
    while (upcoming.headOption.exists(_.firstOffset <= batch.lastOffset)) aborted += upcoming.dequeue()
      .producerId
    if (batch.isControlBatch && isAbort(batch)) aborted -= batch.producerId
    batch.isControlBatch || batch.isTransactional && aborted(batch.producerId)
  }

  /** True if a marker aborts its producer's transaction. */
  private def isAbort(marker: RecordBatch): Boolean = {
    val records = marker.iterator
    records.hasNext && ControlRecordType.parse(records.next().key) == ControlRecordType.ABORT
  }
}

private[headrace] object AbortedTransactions {
  def of(aborted: JList[AbortedTransaction]): AbortedTransactions = {
    val named = if (aborted == null) JCollections.emptyList[AbortedTransaction] else aborted
    new AbortedTransactions(named.asScala.sortBy(_.firstOffset).to(mutable.Queue))
  }
}
