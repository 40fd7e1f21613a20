package org.apache.spark.sql.headrace.kafka

import java.util.concurrent.{ConcurrentHashMap, TimeUnit}
import java.util.{Map => JMap}

import org.apache.kafka.common.TopicPartition

import org.apache.spark.util.ThreadUtils

/** The links of this JVM to Kafka, kept from one micro-batch to the next: what they have fetched ahead is used then. */
private object FetcherPool {
  private val LookSeconds = 10
  private val idle = new ConcurrentHashMap[(JMap[String, Object], TopicPartition), PartitionRecords]

  ThreadUtils.newDaemonSingleThreadScheduledExecutor("headrace-kafka-links")
    .scheduleWithFixedDelay(() => closeStale(), LookSeconds, LookSeconds, TimeUnit.SECONDS)

  /** The records of a partition from an offset on. */
  def take(params: JMap[String, Object], partition: TopicPartition, from: Long, timeoutMs: Long): PartitionRecords = {
    closeStale()
    val kept = idle.remove((params, partition))
    val fetched = if (kept == null) new PartitionRecords(params, partition, timeoutMs) else kept
    if (fetched.position != from) fetched.seek(from)
    fetched
  }

  /** Back from a task, for the next one; closed where the link is of no more use. */
  def give(fetched: PartitionRecords): Unit = {
    fetched.idleSince = System.nanoTime()
    val surplus = if (fetched.usable) idle.put((fetched.params, fetched.partition), fetched) else fetched
    if (surplus != null) surplus.close()
  }

  /** How many links to a topic wait for their next task. Called from Python. */
  def kept(topic: String): Int = {
    var count = 0
    idle.forEach((key, _) => if (key._2.topic == topic) count += 1)
    count
  }

  private def closeStale(): Unit =
    idle.forEach((key, fetched) => if (fetched.stale && idle.remove(key, fetched)) fetched.close())
}
