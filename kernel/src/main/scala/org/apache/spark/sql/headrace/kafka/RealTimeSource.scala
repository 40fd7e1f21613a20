package org.apache.spark.sql.headrace.kafka

import java.util
import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.apache.spark.sql.connector.catalog.{CatalogV2Util, SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.util.ThreadUtils

/**
 * Spark's Kafka source for real-time mode, without offset requests at batch boundaries.
 *
 * Spark requests the end offsets of all partitions twice there, while rows wait: for a metric, and to detect
 * new partitions. This source requests them during the batch.
 */
class RealTimeProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table =
    new RealTimeTable(KafkaStream.table(options))
}

private class RealTimeTable(kafka: Table with SupportsRead) extends Table with SupportsRead {
  override def name(): String = kafka.name()
  override def schema(): StructType = CatalogV2Util.v2ColumnsToStructType(kafka.columns())
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
    new Scan {
      private val scan = kafka.newScanBuilder(options).build()
      override def readSchema(): StructType = scan.readSchema()
      override def description(): String = RealTimeTable.this.name()
      override def supportedCustomMetrics(): Array[CustomMetric] = scan.supportedCustomMetrics()
      override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED
      override def toMicroBatchStream(checkpoint: String): MicroBatchStream =
        new RealTimeStream(scan.toMicroBatchStream(checkpoint).asInstanceOf[RealTimeStream.Kafka])
    }
}

/** Delegates to Spark's stream, except for end offsets. */
private class RealTimeStream(kafka: RealTimeStream.Kafka)
    extends KafkaStream(kafka) with SupportsRealTimeMode {
  private val refresher = ThreadUtils.newDaemonSingleThreadScheduledExecutor("headrace-kafka-latest")

  /** End offsets; null if not requested yet, or after an error: the next caller requests them itself. */
  @volatile private var latest: Offset = _
  @volatile private var start: Offset = _

  override def latestOffset(begin: Offset, limit: ReadLimit): Offset = {
    if (start == null) {
      refresher.scheduleWithFixedDelay(
        () => refresh(), RealTimeStream.Seconds, RealTimeStream.Seconds, TimeUnit.SECONDS)
    }
    start = begin
    val cached = latest
    if (cached != null) cached
    else {
      val current = kafka.latestOffset(begin, limit)
      latest = current
      current
    }
  }

  private def refresh(): Unit =
    try latest = kafka.latestOffset(start, ReadLimit.allAvailable())
    catch { case NonFatal(_) | _: InterruptedException => latest = null }

  override def reportLatestOffset(): Offset = latest
  override def prepareForRealTimeMode(): Unit = kafka.prepareForRealTimeMode()
  override def planInputPartitions(start: Offset): Array[InputPartition] = kafka.planInputPartitions(start)
  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset = kafka.mergeOffsets(offsets)

  override def stop(): Unit = {
    refresher.shutdownNow()
    refresher.awaitTermination(RealTimeStream.Seconds, TimeUnit.SECONDS)
    kafka.stop()
  }
}

private object RealTimeStream {
  type Kafka = MicroBatchStream with SupportsAdmissionControl with SupportsRealTimeMode

  /** Request interval; bounds the delay for new partitions. */
  val Seconds = 5L
}
