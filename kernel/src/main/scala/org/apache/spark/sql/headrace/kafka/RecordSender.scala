package org.apache.spark.sql.headrace.kafka

import java.lang.reflect.{Constructor, InvocationHandler, Method, Proxy}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}
import java.util.{ArrayList => JArrayList, Arrays => JArrays, Collections => JCollections, List => JList}

/**
 * A `KafkaProducer`, by reflection: Kafka's client comes with the pipelines that need it and is not there when the kernel
 * is compiled. What goes wrong with a record is known when the producer has been flushed: `flush` itself doesn't tell.
 */
final class RecordSender(producer: AnyRef) {
  import RecordSender._

  private val loader = producer.getClass.getClassLoader
  private val recordClass = loader.loadClass("org.apache.kafka.clients.producer.ProducerRecord")
  private val record: Constructor[_] = recordClass.getConstructor(
    classOf[String], classOf[Integer], classOf[java.lang.Long], classOf[Object], classOf[Object],
    classOf[java.lang.Iterable[_]])
  private val header: Constructor[_] = loader
    .loadClass("org.apache.kafka.common.header.internals.RecordHeader")
    .getConstructor(classOf[String], classOf[Array[Byte]])
  private val callbackClass = loader.loadClass("org.apache.kafka.clients.producer.Callback")
  private val post: Method = producer.getClass.getMethod("send", recordClass, callbackClass)
  private val partitionsFor: Method = producer.getClass.getMethod("partitionsFor", classOf[String])
  private val turns = new ConcurrentHashMap[String, RoundRobin]
  private val failure = new AtomicReference[Throwable]
  private val noted = Proxy.newProxyInstance(loader, Array(callbackClass), new FirstError(failure))

  /** A new transaction begins: what went wrong in the one before doesn't count. */
  def begin(): Unit = failure.set(null)

  /** Throws what went wrong first with a record that was sent since `begin`, if anything did. */
  def check(): Unit = Option(failure.get).foreach(throw _)

  /** Sends the records in order and returns how many there were. */
  def sendAll(records: Iterator[OutgoingRecord]): Long = {
    var sent = 0L
    records.foreach { one =>
      send(one)
      sent += 1
    }
    sent
  }

  private def send(one: OutgoingRecord): Unit = unwrapped {
    val partition = if (one.partition == null && one.key == null && one.topic != null) next(one.topic) else one.partition
    post.invoke(producer, record.newInstance(one.topic, partition, null, one.key, one.value, headers(one)), noted)
  }

  private def next(topic: String): Integer = turns.computeIfAbsent(topic, name => {
    new RoundRobin(partitionsFor.invoke(producer, name).asInstanceOf[JList[_]].size)
  }).next()

  private def headers(one: OutgoingRecord): java.lang.Iterable[AnyRef] =
    if (one.headers.isEmpty) JCollections.emptyList[AnyRef]()
    else {
      val made = new JArrayList[AnyRef](one.headers.length)
      one.headers.foreach { case (key, value) => made.add(header.newInstance(key, value).asInstanceOf[AnyRef]) }
      made
    }
}

object RecordSender {
  /** Keeps the first error that a producer's callback is given: `onCompletion(metadata, error)`. */
  private final class FirstError(first: AtomicReference[Throwable]) extends InvocationHandler {
    override def invoke(proxy: AnyRef, method: Method, arguments: Array[AnyRef]): AnyRef = {
      if (method.getName == "onCompletion" && arguments(1) != null)
        first.compareAndSet(null, arguments(1).asInstanceOf[Throwable])
      null
    }
  }

  /** Partitions in turn, one a record: Kafka's own partitioner fills one for a while, then another. */
  private final class RoundRobin(count: Int) {
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
