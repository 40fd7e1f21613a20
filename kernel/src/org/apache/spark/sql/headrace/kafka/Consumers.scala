/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.kafka

import java.time.Duration
import java.util.{Collections => JCollections, List => JList, Map => JMap}
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}

import org.apache.kafka.clients.consumer.{ConsumerRecord, KafkaConsumer, OffsetOutOfRangeException}
import org.apache.kafka.common.TopicPartition

import org.apache.spark.util.ThreadUtils

/** Kafka's consumers of this JVM, kept from one micro-batch to the next: what they have fetched ahead is used then. */
private object Consumers {
  private val IdleMinutes = 2
  private val idle = new ConcurrentHashMap[(JMap[String, Object], TopicPartition), Fetched]

  ThreadUtils.newDaemonSingleThreadScheduledExecutor("headrace-kafka-consumers")
    .scheduleWithFixedDelay(() => closeOld(), IdleMinutes, 1, TimeUnit.MINUTES)

  /** A consumer that goes on at `from`. */
  def take(params: JMap[String, Object], partition: TopicPartition, from: Long, timeoutMs: Long): Fetched = {
    val kept = idle.remove((params, partition))
    val fetched = if (kept == null) new Fetched(params, partition, Duration.ofMillis(timeoutMs)) else kept
    if (fetched.position != from) fetched.seek(from)
    fetched
  }

  /** Back from a task, for the next one; it is closed where the task broke off in the middle of a fetch. */
  def give(fetched: Fetched): Unit = {
    val surplus = if (fetched.fetching) fetched else idle.put((fetched.params, fetched.partition), fetched)
    fetched.idleSince = System.nanoTime()
    if (surplus != null) surplus.close()
  }

  private def closeOld(): Unit = {
    val limit = System.nanoTime() - TimeUnit.MINUTES.toNanos(IdleMinutes)
    idle.forEach((key, fetched) => if (fetched.idleSince < limit && idle.remove(key, fetched)) fetched.close())
  }
}

/** A consumer of one partition, with the records that it has fetched and nobody has taken yet. */
private final class Fetched(val params: JMap[String, Object], val partition: TopicPartition, timeout: Duration) {
  type Record = ConsumerRecord[Array[Byte], Array[Byte]]
  private val consumer = new KafkaConsumer[Array[Byte], Array[Byte]](params)
  private var records: JList[Record] = JCollections.emptyList[Record]
  private var taken = 0
  consumer.assign(JCollections.singleton(partition))

  /** All before this offset has been taken. */
  var position: Long = -1L
  /** Whether a fetch is under way, or has failed. */
  var fetching = false
  @volatile var idleSince = 0L

  def seek(offset: Long): Unit = {
    records = JCollections.emptyList[Record]
    taken = 0
    consumer.seek(partition, offset)
    position = offset
  }

  /** Goes to the next record before `until`; false where `position` is there already, or Kafka didn't give one. */
  def next(until: Long): Boolean = {
    while (taken == records.size && position < until && fetch()) {}
    taken < records.size && {
      val offset = records.get(taken).offset
      // offsets may have gaps: markers of transactions, and what compaction took away
      position = math.min(offset + 1, until)
      if (offset < until) taken += 1
      offset < until
    }
  }

  /** The record that `next` went to. */
  def current: Record = records.get(taken - 1)

  def close(): Unit = consumer.close(Duration.ZERO)

  /** Whether it has come further: not where nothing comes in time, or what comes next is gone. */
  private def fetch(): Boolean = {
    fetching = true
    val before = position
    records = JCollections.emptyList[Record]
    taken = 0
    try {
      // The consumer may be past the last record already, behind a marker: at the topic's end a poll would wait in vain.
      position = math.max(before, consumer.position(partition))
      if (position == before) {
        records = consumer.poll(timeout).records(partition)
        if (records.isEmpty) position = consumer.position(partition)
      }
      fetching = false
    } catch {
      case _: OffsetOutOfRangeException => // what is to be read is gone
    }
    !records.isEmpty || position > before
  }
}
