package org.apache.spark.sql.headrace.kafka

import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, LinkedBlockingQueue}

import scala.concurrent.ExecutionContext

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.{SparkException, TaskContext}

/**
 * Sends the rows of a frame through one producer on the driver, in one transaction.
 *
 * In local mode tasks share the driver's JVM and use the thread-safe producer directly. On a cluster each
 * task's records are transferred to the driver ([[BlockTransfer]]) when the task has succeeded, and sent
 * there.
 */
object FrameSender {
  private val senders = new ConcurrentHashMap[String, RecordSender]

  /** Sends all rows ([[OutgoingRecord]]) and returns their number. Called from Python. */
  def send(frame: DataFrame, sender: RecordSender): Long =
    send(frame, sender, frame.sparkSession.sparkContext.isLocal)

  /** `inPlace`: true if tasks can use the producer directly. */
  def send(frame: DataFrame, sender: RecordSender, inPlace: Boolean): Long =
    if (inPlace) fromTasks(frame, sender) else fromDriver(frame, sender)

  private def fromTasks(frame: DataFrame, sender: RecordSender): Long = {
    val id = UUID.randomUUID().toString
    senders.put(id, sender)
    try {
      val rows = frame.queryExecution.toRdd
      rows.sparkContext.runJob(rows,
        (task: TaskContext, partition: Iterator[InternalRow]) => {
          failOnRetry(task)
          senders.get(id).sendAll(partition.map(OutgoingRecord.of))
        }).sum
    } finally senders.remove(id)
  }

  /** Sends the records of finished tasks while others run, outside Spark's scheduler threads. */
  private def fromDriver(frame: DataFrame, sender: RecordSender): Long = {
    val rows = frame.queryExecution.toRdd
    val number = BlockTransfer.begin()
    val finished = new LinkedBlockingQueue[Option[TaskRecords]]
    val job = rows.sparkContext.submitJob[InternalRow, TaskRecords, Unit](
      rows,
      (partition: Iterator[InternalRow]) => BlockTransfer.pack(partition.map(OutgoingRecord.of), number),
      rows.partitions.indices, (_: Int, records: TaskRecords) => finished.put(Some(records)), ())
    job.onComplete(_ => finished.put(None))(ExecutionContext.parasitic)
    try {
      val sent = Iterator.continually(finished.take()).takeWhile(_.isDefined).flatten
        .map(records => sender.sendAll(BlockTransfer.unpack(records))).sum
      job.value.foreach(_.get) // rethrows a task's error
      sent
    } finally {
      job.cancel() // no effect if the job has ended
      BlockTransfer.end(number)
    }
  }

  /** Records of a failed attempt are part of the transaction, so the whole transaction must be aborted. */
  private def failOnRetry(
      task: TaskContext): Unit = if (task.attemptNumber() > 0 || task.stageAttemptNumber() > 0)
    throw new SparkException(
      "a task that writes to Kafka failed and can't be repeated within its transaction")
}

/** A record to send; with a null partition the key or round-robin selects it. */
final case class OutgoingRecord(topic: String, partition: java.lang.Integer, key: Array[Byte],
    value: Array[Byte], headers: Array[(String, Array[Byte])])

object OutgoingRecord {
  /** Converts a row of `topic`, `partition`, `key`, `value` and `headers array<struct<string, binary>>`. */
  def of(row: InternalRow): OutgoingRecord = OutgoingRecord(
    if (row.isNullAt(0)) null else row.getUTF8String(0).toString,
    if (row.isNullAt(1)) null else Int.box(row.getInt(1)), if (row.isNullAt(2)) null else row.getBinary(2),
    if (row.isNullAt(3)) null else row.getBinary(3), if (row.isNullAt(4)) Array.empty else headers(row))

  private def headers(row: InternalRow): Array[(String, Array[Byte])] = {
    val values = row.getArray(4)
    Array.tabulate(values.numElements()) { i =>
      val header = values.getStruct(i, 2)
      (header.getUTF8String(0).toString, if (header.isNullAt(1)) null else header.getBinary(1))
    }
  }
}
