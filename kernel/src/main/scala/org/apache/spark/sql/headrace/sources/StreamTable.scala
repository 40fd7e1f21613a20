package org.apache.spark.sql.headrace.sources

import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

class StreamTable(override val name: String, rowSchema: StructType)(stream: => MicroBatchStream)
    extends Table with SupportsRead {
  override def schema(): StructType = rowSchema
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.MICRO_BATCH_READ)
  protected def batch: Batch = throw new UnsupportedOperationException(s"$name is not a batch")

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
    new Scan {
      override def readSchema(): StructType = rowSchema
      override def description(): String = StreamTable.this.name
      override def toMicroBatchStream(checkpoint: String): MicroBatchStream = stream
      override def toBatch: Batch = batch
      override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED
    }
}

trait RowSplit extends InputPartition {
  def rows: Iterator[InternalRow]
}

/** A stream whose splits contain their rows. */
abstract class RowStream extends MicroBatchStream with SupportsTriggerAvailableNow {
  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark passes a start and a limit")
  override def createReaderFactory(): PartitionReaderFactory = RowReaders
  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()
}

object RowReaders extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new PartitionReader[InternalRow] {
      private val rows = partition.asInstanceOf[RowSplit].rows
      private var row: InternalRow = _
      override def next(): Boolean = rows.hasNext && { row = rows.next(); true }
      override def get(): InternalRow = row
      override def close(): Unit = ()
    }
}
