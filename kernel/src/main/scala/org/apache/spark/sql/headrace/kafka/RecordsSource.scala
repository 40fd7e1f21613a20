package org.apache.spark.sql.headrace.kafka

import java.util
import java.util.Optional

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Spark's Kafka source (options, offsets, checkpoints) with a faster reader that returns `value binary,
 * partition string, offset bigint` in place of Spark's seven columns.
 */
class RecordsProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table =
    new RecordsTable(KafkaStream.table(options))
}

private class RecordsTable(kafka: SupportsRead) extends Table with SupportsRead {
  override def name(): String = kafka.name()
  override def schema(): StructType = RecordsTable.Schema
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
    new Scan {
      override def readSchema(): StructType = RecordsTable.Schema
      override def description(): String = RecordsTable.this.name()
      override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.SUPPORTED
      override def toMicroBatchStream(checkpoint: String): MicroBatchStream = {
        val stream = kafka.newScanBuilder(options).build().toMicroBatchStream(checkpoint)
        new RecordsStream(stream.asInstanceOf[RecordsStream.Kafka])
      }
    }
}

private object RecordsTable {
  val Schema: StructType = StructType.fromDDL("value binary, partition string, offset bigint")
}

/** Delegates to Spark's stream, except for reading. */
private class RecordsStream(kafka: RecordsStream.Kafka)
    extends KafkaStream(kafka) with SupportsTriggerAvailableNow with ReportsSourceMetrics {
  override def latestOffset(start: Offset, limit: ReadLimit): Offset = kafka.latestOffset(start, limit)
  override def reportLatestOffset(): Offset = kafka.reportLatestOffset()
  override def prepareForTriggerAvailableNow(): Unit = kafka.prepareForTriggerAvailableNow()
  override def createReaderFactory(): PartitionReaderFactory =
    new RecordsReaderFactory(kafka.createReaderFactory())
  override def metrics(consumed: Optional[Offset]): util.Map[String, String] = kafka.metrics(consumed)
}

private object RecordsStream {
  type Kafka = MicroBatchStream with SupportsTriggerAvailableNow with ReportsSourceMetrics
}

private class RecordsReaderFactory(kafka: PartitionReaderFactory) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = true
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    throw new UnsupportedOperationException("records come as columns")
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    new RecordsReader(partition.asInstanceOf[KafkaBatchInputPartition], kafka)
}
