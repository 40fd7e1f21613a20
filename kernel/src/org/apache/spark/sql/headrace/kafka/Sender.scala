/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.kafka

import java.lang.reflect.{Constructor, Method}
import java.util.{ArrayList => JArrayList, Arrays => JArrays, Collections => JCollections, List => JList}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

/**
 * A `KafkaProducer`, by reflection: Kafka's client comes with the pipelines that need it and is not there when the kernel
 * is compiled. What goes wrong with a record is told by the producer when the transaction is committed.
 */
final class Sender(producer: AnyRef) {
  import Sender._

  private val loader = producer.getClass.getClassLoader
  private val recordClass = loader.loadClass("org.apache.kafka.clients.producer.ProducerRecord")
  private val record: Constructor[_] = recordClass.getConstructor(
    classOf[String], classOf[Integer], classOf[java.lang.Long], classOf[Object], classOf[Object],
    classOf[java.lang.Iterable[_]])
  private val header: Constructor[_] = loader
    .loadClass("org.apache.kafka.common.header.internals.RecordHeader")
    .getConstructor(classOf[String], classOf[Array[Byte]])
  private val post: Method = producer.getClass.getMethod("send", recordClass)
  private val partitionsFor: Method = producer.getClass.getMethod("partitionsFor", classOf[String])
  private val turns = new ConcurrentHashMap[String, Turns]

  /** Sends the records in order and returns how many there were. */
  def sendAll(records: Iterator[Record]): Long = {
    var sent = 0L
    records.foreach { one =>
      send(one)
      sent += 1
    }
    sent
  }

  private def send(one: Record): Unit = unwrapped {
    val partition = if (one.partition == null && one.key == null && one.topic != null) next(one.topic) else one.partition
    post.invoke(producer, record.newInstance(one.topic, partition, null, one.key, one.value, headers(one)))
  }

  private def next(topic: String): Integer = turns.computeIfAbsent(topic, name => {
    new Turns(partitionsFor.invoke(producer, name).asInstanceOf[JList[_]].size)
  }).next()

  private def headers(one: Record): java.lang.Iterable[AnyRef] =
    if (one.headers.isEmpty) JCollections.emptyList[AnyRef]()
    else {
      val made = new JArrayList[AnyRef](one.headers.length)
      one.headers.foreach { case (key, value) => made.add(header.newInstance(key, value).asInstanceOf[AnyRef]) }
      made
    }
}

object Sender {
  /** Partitions in turn, one a record: Kafka's own partitioner fills one for a while, then another. */
  private final class Turns(count: Int) {
    private val last = new AtomicInteger
    def next(): Integer = Int.box(Math.floorMod(last.getAndIncrement(), count))
  }

  private def unwrapped(body: => Unit): Unit =
    try body
    catch { case wrapped: java.lang.reflect.InvocationTargetException => throw wrapped.getCause }
}

/** The ledger's newest entry of one sink, found among a consumer's records. */
object LedgerScan {
  /** The value of the last record with this key, or null; `records` is a `ConsumerRecords`. */
  def last(records: AnyRef, key: Array[Byte]): Array[Byte] = {
    var found: Array[Byte] = null
    records.asInstanceOf[java.lang.Iterable[AnyRef]].forEach { record =>
      val kind = record.getClass
      if (JArrays.equals(kind.getMethod("key").invoke(record).asInstanceOf[Array[Byte]], key))
        found = kind.getMethod("value").invoke(record).asInstanceOf[Array[Byte]]
    }
    found
  }
}
