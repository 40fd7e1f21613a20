package org.apache.spark.sql.headrace.compat.kafka

import java.nio.ByteBuffer
import java.util.{Base64, HashMap => JHashMap}

import scala.util.Try

import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.record.{DefaultRecordBatch, MemoryRecords}

import org.apache.spark.sql.headrace.compat.CompatCheck

/** Fetching through the network client of kafka-clients instead of its consumer. */
object KafkaFetch extends CompatCheck {
  override val target = "org.apache.kafka.clients.NetworkClient"
  override val fallback: Option[String] = Some("Spark's Kafka reader")
  override def isPresent: Boolean = Try(Class.forName(target)).isSuccess

  /** Creates and closes a client without connecting, and reads a stored batch. */
  override protected def verify(): Unit = {
    val params = new JHashMap[String, Object]
    params.put("bootstrap.servers", "127.0.0.1:9")
    Seq("key.deserializer", "value.deserializer")
      .foreach(params.put(_, "org.apache.kafka.common.serialization.ByteArrayDeserializer"))
    new PartitionFetcher(params, new TopicPartition("self-test", 0)).close()
    val rows = new RecordColumns("self-test-0")
    val reader = new RecordBatchReader
    try {
      readBatch(reader, rows)
      val values = (0 until rows.count).map { i =>
        if (rows.batch.column(0).isNullAt(i)) null else new String(rows.batch.column(0).getBinary(i))
      }
      require(values == Seq("a", null, "bc"), s"a batch was read as $values")
    } finally {
      reader.close()
      rows.close()
    }
  }

  private def readBatch(reader: RecordBatchReader, rows: RecordColumns): Unit = {
    val bytes = ByteBuffer.wrap(Base64.getDecoder.decode(Batch))
    MemoryRecords.readableRecords(bytes).batches.forEach { batch =>
      reader.open(batch.asInstanceOf[DefaultRecordBatch])
      reader.copy(0L, batch.nextOffset, rows)
    }
  }

  /** Three records as the broker stores them, with the values `a`, null and `bc`. */
  private val Batch =
    "AAAAAAAAAAAAAABL/////wJ3fJ2FAAAAAAACAAAAAAAAAAAAAAAAAAAAAP//////////////////AAAAAw4AAAABAmEA" +
      "DgAAAgJrAQASAAAEAmsEYmMA"
}
