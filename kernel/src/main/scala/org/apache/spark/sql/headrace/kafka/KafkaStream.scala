package org.apache.spark.sql.headrace.kafka

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Delegates to Spark's Kafka stream. */
private abstract class KafkaStream(kafka: MicroBatchStream with SupportsAdmissionControl)
    extends MicroBatchStream with SupportsAdmissionControl {
  override def initialOffset(): Offset = kafka.initialOffset()
  override def latestOffset(): Offset = kafka.latestOffset()
  override def getDefaultReadLimit: ReadLimit = kafka.getDefaultReadLimit
  override def deserializeOffset(json: String): Offset = kafka.deserializeOffset(json)
  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = kafka
    .planInputPartitions(start, end)
  override def createReaderFactory(): PartitionReaderFactory = kafka.createReaderFactory()
  override def commit(end: Offset): Unit = kafka.commit(end)
  override def stop(): Unit = kafka.stop()
  override def toString: String = kafka.toString
}

private object KafkaStream {
  /** The table of Spark's Kafka source. */
  def table(options: CaseInsensitiveStringMap): Table with SupportsRead = {
    val provider = DataSource.lookupDataSource("kafka", SparkSession.active.sessionState.conf)
    val kafka = provider.getConstructor().newInstance().asInstanceOf[SimpleTableProvider]
    kafka.getTable(options).asInstanceOf[Table with SupportsRead]
  }
}
