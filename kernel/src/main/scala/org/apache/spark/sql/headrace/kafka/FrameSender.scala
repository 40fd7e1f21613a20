package org.apache.spark.sql.headrace.kafka

import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, LinkedBlockingQueue}

import scala.concurrent.ExecutionContext

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.{SparkException, TaskContext}

/**
 * Sends the rows of a frame through one producer of the driver, so that they are one transaction.
 *
 * In local mode the tasks run in the driver's JVM and use the producer, which is thread-safe, side by side. On a cluster
 * each task's records come to the driver when the task has succeeded, in pieces ([[BlockTransfer]]), and are sent there.
 */
object FrameSender {
  private val senders = new ConcurrentHashMap[String, RecordSender]

  /** Sends all rows and returns how many; called from Python. `frame` has the columns of [[OutgoingRecord]]. */
  def send(frame: DataFrame, sender: RecordSender): Long = send(frame, sender, frame.sparkSession.sparkContext.isLocal)

  /** As above; `inPlace` says whether the tasks can use the producer themselves. */
  def send(frame: DataFrame, sender: RecordSender, inPlace: Boolean): Long =
    if (inPlace) fromTasks(frame, sender) else fromDriver(frame, sender)

  private def fromTasks(frame: DataFrame, sender: RecordSender): Long = {
    val id = UUID.randomUUID().toString
    senders.put(id, sender)
    try {
      val rows = frame.queryExecution.toRdd
      rows.sparkContext.runJob(rows, (task: TaskContext, partition: Iterator[InternalRow]) => {
        refuseRepetition(task)
        senders.get(id).sendAll(partition.map(OutgoingRecord.of))
      }).sum
    } finally senders.remove(id)
  }

  /** Sends what tasks have ready while others still run; Spark's own threads, which tell of results, don't wait for Kafka. */
  private def fromDriver(frame: DataFrame, sender: RecordSender): Long = {
    val rows = frame.queryExecution.toRdd
    val number = BlockTransfer.begin()
    val arrived = new LinkedBlockingQueue[Option[TaskRecords]]
    val job = rows.sparkContext.submitJob[InternalRow, TaskRecords, Unit](
      rows,
      (partition: Iterator[InternalRow]) => BlockTransfer.pack(partition.map(OutgoingRecord.of), number),
      rows.partitions.indices,
      (_: Int, parcel: TaskRecords) => arrived.put(Some(parcel)),
      ())
    job.onComplete(_ => arrived.put(None))(ExecutionContext.parasitic)
    try {
      val sent = Iterator.continually(arrived.take()).takeWhile(_.isDefined).flatten
        .map(parcel => sender.sendAll(BlockTransfer.unpack(parcel))).sum
      job.value.foreach(_.get) // throws what a task did
      sent
    } finally {
      job.cancel() // nothing, where it has ended
      BlockTransfer.end(number)
    }
  }

  /** What a failed attempt has sent is in the transaction already; only a new transaction is without it. */
  private def refuseRepetition(task: TaskContext): Unit =
    if (task.attemptNumber() > 0 || task.stageAttemptNumber() > 0)
      throw new SparkException("a task that writes to Kafka failed and can't be repeated within its transaction")
}

/** One record to be sent; a null partition leaves the choice to the key, or to turns. */
final case class OutgoingRecord(
    topic: String,
    partition: java.lang.Integer,
    key: Array[Byte],
    value: Array[Byte],
    headers: Array[(String, Array[Byte])])

object OutgoingRecord {
  /** From a row of `topic string, partition int, key binary, value binary, headers array<struct<string, binary>>`. */
  def of(row: InternalRow): OutgoingRecord = OutgoingRecord(
    if (row.isNullAt(0)) null else row.getUTF8String(0).toString,
    if (row.isNullAt(1)) null else Int.box(row.getInt(1)),
    if (row.isNullAt(2)) null else row.getBinary(2),
    if (row.isNullAt(3)) null else row.getBinary(3),
    if (row.isNullAt(4)) Array.empty else headers(row))

  private def headers(row: InternalRow): Array[(String, Array[Byte])] = {
    val found = row.getArray(4)
    Array.tabulate(found.numElements()) { i =>
      val header = found.getStruct(i, 2)
      (header.getUTF8String(0).toString, if (header.isNullAt(1)) null else header.getBinary(1))
    }
  }
}
