package org.apache.spark.sql.headrace.kafka

import java.util
import java.util.Optional

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Spark's Kafka source, with its options, its offsets and its checkpoints, and a reader of our own.
 *
 * Of a record it gives the value and its place, as `value binary, partition string, offset bigint`. Spark's reader makes
 * a row of seven columns of each record, and takes more than half of the time of a job that reads and filters.
 */
class RecordsProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table = {
    val kafka = DataSource.lookupDataSource("kafka", SparkSession.active.sessionState.conf)
      .getConstructor().newInstance().asInstanceOf[SimpleTableProvider]
    new RecordsTable(kafka.getTable(options).asInstanceOf[SupportsRead])
  }
}

private class RecordsTable(kafka: SupportsRead) extends Table with SupportsRead {
  override def name(): String = kafka.name()

  override def schema(): StructType = RecordsTable.Schema

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new Scan {
    override def readSchema(): StructType = RecordsTable.Schema

    override def description(): String = RecordsTable.this.name()

    override def toMicroBatchStream(checkpoint: String): MicroBatchStream =
      kafka.newScanBuilder(options).build().toMicroBatchStream(checkpoint) match {
        case stream: RecordsStream.Kafka => new RecordsStream(stream)
      }

    override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.SUPPORTED
  }
}

private object RecordsTable {
  val Schema: StructType = StructType.fromDDL("value binary, partition string, offset bigint")
}

/** All of it is Spark's stream, but for who reads a range of offsets. */
private class RecordsStream(kafka: RecordsStream.Kafka)
  extends MicroBatchStream with SupportsTriggerAvailableNow with ReportsSourceMetrics {
  override def initialOffset(): Offset = kafka.initialOffset()
  override def latestOffset(): Offset = kafka.latestOffset()
  override def latestOffset(start: Offset, limit: ReadLimit): Offset = kafka.latestOffset(start, limit)
  override def reportLatestOffset(): Offset = kafka.reportLatestOffset()
  override def getDefaultReadLimit: ReadLimit = kafka.getDefaultReadLimit
  override def prepareForTriggerAvailableNow(): Unit = kafka.prepareForTriggerAvailableNow()
  override def deserializeOffset(json: String): Offset = kafka.deserializeOffset(json)
  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    kafka.planInputPartitions(start, end)
  override def createReaderFactory(): PartitionReaderFactory = new RecordsReaderFactory(kafka.createReaderFactory())
  override def metrics(consumed: Optional[Offset]): util.Map[String, String] = kafka.metrics(consumed)
  override def commit(end: Offset): Unit = kafka.commit(end)
  override def stop(): Unit = kafka.stop()
  override def toString: String = kafka.toString
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
