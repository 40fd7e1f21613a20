package org.apache.spark.sql.headrace.kafka

import java.util
import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{CatalogV2Util, SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.util.ThreadUtils

/**
 * Spark's Kafka source for runs in real time, which doesn't ask Kafka at the end of a batch.
 *
 * There Spark asks twice for the ends of all partitions, while rows wait: once for a figure in its report, once for
 * nothing but whether there are new partitions. Here that is asked while a batch runs.
 */
class RealTimeProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table = {
    val kafka = DataSource.lookupDataSource("kafka", SparkSession.active.sessionState.conf)
      .getConstructor().newInstance().asInstanceOf[SimpleTableProvider]
    new RealTimeTable(kafka.getTable(options).asInstanceOf[Table with SupportsRead])
  }
}

private class RealTimeTable(kafka: Table with SupportsRead) extends Table with SupportsRead {
  override def name(): String = kafka.name()

  override def schema(): StructType = CatalogV2Util.v2ColumnsToStructType(kafka.columns())

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new Scan {
    private val scan = kafka.newScanBuilder(options).build()

    override def readSchema(): StructType = scan.readSchema()
    override def description(): String = RealTimeTable.this.name()
    override def supportedCustomMetrics(): Array[CustomMetric] = scan.supportedCustomMetrics()
    override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED
    override def toMicroBatchStream(checkpoint: String): MicroBatchStream = scan.toMicroBatchStream(checkpoint) match {
      case stream: RealTimeStream.Kafka => new RealTimeStream(stream)
    }
  }
}

/** All of it is Spark's stream, but for when the ends of partitions are asked for. */
private class RealTimeStream(kafka: RealTimeStream.Kafka)
  extends MicroBatchStream with SupportsAdmissionControl with SupportsRealTimeMode {
  private val asking = ThreadUtils.newDaemonSingleThreadScheduledExecutor("headrace-kafka-latest")
  /** The ends of partitions; null while nobody has asked, or Kafka didn't answer: then whoever needs them asks, and is told. */
  @volatile private var latest: Offset = _
  @volatile private var start: Offset = _

  override def latestOffset(begin: Offset, limit: ReadLimit): Offset = {
    if (start == null) {
      asking.scheduleWithFixedDelay(() => ask(), RealTimeStream.Seconds, RealTimeStream.Seconds, TimeUnit.SECONDS)
    }
    start = begin
    val known = latest
    if (known != null) known
    else {
      val asked = kafka.latestOffset(begin, limit)
      latest = asked
      asked
    }
  }

  private def ask(): Unit =
    try latest = kafka.latestOffset(start, ReadLimit.allAvailable())
    catch { case NonFatal(_) | _: InterruptedException => latest = null }

  override def latestOffset(): Offset = kafka.latestOffset()
  override def reportLatestOffset(): Offset = latest
  override def initialOffset(): Offset = kafka.initialOffset()
  override def getDefaultReadLimit: ReadLimit = kafka.getDefaultReadLimit
  override def deserializeOffset(json: String): Offset = kafka.deserializeOffset(json)
  override def prepareForRealTimeMode(): Unit = kafka.prepareForRealTimeMode()
  override def planInputPartitions(start: Offset): Array[InputPartition] = kafka.planInputPartitions(start)
  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    kafka.planInputPartitions(start, end)
  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset = kafka.mergeOffsets(offsets)
  override def createReaderFactory(): PartitionReaderFactory = kafka.createReaderFactory()
  override def commit(end: Offset): Unit = kafka.commit(end)
  override def toString: String = kafka.toString

  override def stop(): Unit = {
    asking.shutdownNow()
    asking.awaitTermination(RealTimeStream.Seconds, TimeUnit.SECONDS)
    kafka.stop()
  }
}

private object RealTimeStream {
  type Kafka = MicroBatchStream with SupportsAdmissionControl with SupportsRealTimeMode

  /** How often Kafka is asked: a partition that was added is read from the next batch after that on. */
  val Seconds = 5L
}
