package org.apache.spark.sql.headrace.kafka

import java.time.Duration
import java.util.{HashMap => JHashMap, Map => JMap}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.util.Utils

/**
 * Sends the rows of a frame from their tasks, without a transaction: nothing passes through the driver. A
 * task that is repeated sends its records again.
 */
object TaskSender {
  /** Sends all rows ([[OutgoingRecord]]) and returns their number. Called from Python. */
  def send(frame: DataFrame, properties: JMap[String, Object]): Long = {
    val configuration = new JHashMap[String, Object](properties) // a class that tasks can deserialise
    val rows = frame.queryExecution.toRdd
    rows.sparkContext
      .runJob(rows, (partition: Iterator[InternalRow]) => sendPartition(partition, configuration)).sum
  }

  private def sendPartition(rows: Iterator[InternalRow], configuration: JMap[String, Object]): Long =
    if (rows.isEmpty) 0L
    else {
      val kind = Utils.classForName[AnyRef]("org.apache.kafka.clients.producer.KafkaProducer")
      val producer = kind.getConstructor(classOf[JMap[_, _]]).newInstance(configuration)
      try {
        val sender = new RecordSender(producer)
        val sent = sender.sendAll(rows.map(OutgoingRecord.of))
        kind.getMethod("flush").invoke(producer)
        sender.check()
        sent
      } finally kind.getMethod("close", classOf[Duration]).invoke(producer, Duration.ZERO)
    }
}
