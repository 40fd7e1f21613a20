package org.apache.spark.sql.headrace.compat.kafka

import java.util.concurrent.{ConcurrentHashMap, TimeUnit}
import java.util.{Map => JMap}

import org.apache.kafka.common.TopicPartition

import org.apache.spark.util.ThreadUtils

/** Fetchers of this JVM, kept from one micro-batch to the next with their prefetched records. */
private[headrace] object FetcherPool {
  private val CheckSeconds = 10
  private val idle = new ConcurrentHashMap[(JMap[String, Object], TopicPartition), PartitionRecords]

  ThreadUtils.newDaemonSingleThreadScheduledExecutor("headrace-kafka-links")
    .scheduleWithFixedDelay(() => closeStale(), CheckSeconds, CheckSeconds, TimeUnit.SECONDS)

  /** Takes the reader of a partition, positioned at an offset. */
  def take(params: JMap[String, Object], partition: TopicPartition, from: Long, timeoutMs: Long)
      : PartitionRecords = {
    closeStale()
    val pooled = idle.remove((params, partition))
    val records = if (pooled == null) new PartitionRecords(params, partition, timeoutMs) else pooled
    if (records.position != from) records.seek(from)
    records
  }

  /** Returns a reader for the next task; closes it if it is unusable. */
  def release(records: PartitionRecords): Unit = {
    records.idleSince = System.nanoTime()
    val unused = if (records.usable) idle.put((records.params, records.partition), records) else records
    if (unused != null) unused.close()
  }

  /** Number of idle readers of a topic. Called from tests. */
  def countFetchers(topic: String): Int = {
    var count = 0
    idle.forEach((key, _) => if (key._2.topic == topic) count += 1)
    count
  }

  private def closeStale(): Unit = idle
    .forEach((key, records) => if (records.stale && idle.remove(key, records)) records.close())
}
