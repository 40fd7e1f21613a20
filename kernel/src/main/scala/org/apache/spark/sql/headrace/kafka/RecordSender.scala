package org.apache.spark.sql.headrace.kafka

import java.lang.reflect.{Constructor, InvocationHandler, Method, Proxy}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}
import java.util.{ArrayList => JArrayList, Arrays => JArrays, Collections => JCollections, List => JList}

/**
 * Sends records with a `KafkaProducer`, by reflection: the client is not on the compile class path. `flush`
 * does not report errors of single records; `check` does.
 */
final class RecordSender(producer: AnyRef) {
  import RecordSender._

  private val loader = producer.getClass.getClassLoader
  private val recordClass = loader.loadClass("org.apache.kafka.clients.producer.ProducerRecord")
  private val newRecord: Constructor[_] = recordClass.getConstructor(classOf[String], classOf[Integer],
    classOf[java.lang.Long], classOf[Object], classOf[Object], classOf[java.lang.Iterable[_]])
  private val header: Constructor[_] = loader
    .loadClass("org.apache.kafka.common.header.internals.RecordHeader")
    .getConstructor(classOf[String], classOf[Array[Byte]])
  private val callbackClass = loader.loadClass("org.apache.kafka.clients.producer.Callback")
  private val sendMethod: Method = producer.getClass.getMethod("send", recordClass, callbackClass)
  private val partitionsFor: Method = producer.getClass.getMethod("partitionsFor", classOf[String])
  private val turns = new ConcurrentHashMap[String, RoundRobin]
  private val failure = new AtomicReference[Throwable]
  private val callback = Proxy.newProxyInstance(loader, Array(callbackClass), new FirstError(failure))

  /** Starts a transaction; clears the error of the previous one. */
  def begin(): Unit = failure.set(null)

  /** Throws the first error since `begin`, if any. */
  def check(): Unit = Option(failure.get).foreach(throw _)

  /** Sends the records in order and returns their number. */
  def sendAll(records: Iterator[OutgoingRecord]): Long = {
    var sent = 0L
    records.foreach { record =>
      send(record)
      sent += 1
    }
    sent
  }

  private def send(record: OutgoingRecord): Unit = unwrapErrors {
    val partition =
      if (record.partition == null && record.key == null && record.topic != null) next(record.topic)
      else record.partition
    sendMethod.invoke(producer,
      newRecord.newInstance(record.topic, partition, null, record.key, record.value, headers(record)),
      callback)
  }

  private def next(topic: String): Integer = turns.computeIfAbsent(
    topic, name => { new RoundRobin(partitionsFor.invoke(producer, name).asInstanceOf[JList[_]].size) })
    .next()

  private def headers(record: OutgoingRecord): java.lang.Iterable[AnyRef] =
    if (record.headers.isEmpty) JCollections.emptyList[AnyRef]()
    else {
      val list = new JArrayList[AnyRef](record.headers.length)
      record.headers.foreach { case (key, value) =>
        list.add(header.newInstance(key, value).asInstanceOf[AnyRef])
      }
      list
    }
}

object RecordSender {
  /** A producer callback that stores the first error. */
  private final class FirstError(first: AtomicReference[Throwable]) extends InvocationHandler {
    override def invoke(proxy: AnyRef, method: Method, arguments: Array[AnyRef]): AnyRef = {
      if (method.getName == "onCompletion" && arguments(1) != null) first
        .compareAndSet(null, arguments(1).asInstanceOf[Throwable])
      null
    }
  }

  /** Assigns partitions round-robin, one record each; Kafka's partitioner is sticky. */
  private final class RoundRobin(count: Int) {
    private val last = new AtomicInteger
    def next(): Integer = Int.box(Math.floorMod(last.getAndIncrement(), count))
  }

  private def unwrapErrors(body: => Unit): Unit =
    try body
    catch { case wrapped: java.lang.reflect.InvocationTargetException => throw wrapped.getCause }
}

/** Finds a sink's newest ledger entry. */
object LedgerScan {
  /** Value of the last record with a key, or null; `records` is a `ConsumerRecords`. */
  def last(records: AnyRef, key: Array[Byte]): Array[Byte] = {
    var value: Array[Byte] = null
    records.asInstanceOf[java.lang.Iterable[AnyRef]].forEach { record =>
      val kind = record.getClass
      if (JArrays.equals(kind.getMethod("key").invoke(record).asInstanceOf[Array[Byte]], key))
        value = kind.getMethod("value").invoke(record).asInstanceOf[Array[Byte]]
    }
    value
  }
}
