package org.apache.spark.sql.headrace.kafka

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable.ArrayBuffer
import scala.reflect.ClassTag

import org.apache.spark.storage.{BlockId, StorageLevel, StreamBlockId}
import org.apache.spark.util.io.ChunkedByteBuffer
import org.apache.spark.{SparkEnv, SparkException, TaskContext}

/**
 * Records on their way from a task to the driver: pieces that wait on the executor, in memory or on its disk, until the
 * driver fetches them one by one, and the rest, which comes with the task's result. So the driver holds a piece at a time,
 * whatever the size of an epoch or of a partition.
 */
final case class TaskRecords(pieces: Array[BlockId], rest: Array[Byte])

object BlockTransfer {
  /** Where a piece ends: small beside a driver's memory, large beside what fetching one costs. */
  private val PieceBytes = 4 << 20

  /** The most that comes with a task's result: Spark limits the sum over all tasks (`spark.driver.maxResultSize`). */
  private val RestBytes = 64 << 10

  /** Blocks of Spark's own streams have such names, too; theirs count from 0. */
  private val FirstNumber = 1 << 30
  private val numbers = new AtomicInteger(FirstNumber)
  private val underWay = ConcurrentHashMap.newKeySet[Int]

  /** The number of an epoch, which tells its parcels from others. */
  def begin(): Int = {
    val number = numbers.getAndIncrement()
    underWay.add(number)
    number
  }

  /**
   * Lets go of all that waits of an epoch, sent or not. A task of an epoch that failed may still be at work and leave a piece
   * after this: that one goes when another epoch ends.
   */
  def end(number: Int): Unit = {
    underWay.remove(number)
    sweep()
  }

  /** Packs what a task has to send. */
  def pack(records: Iterator[OutgoingRecord], number: Int): TaskRecords = {
    val task = TaskContext.get()
    val pieces = ArrayBuffer.empty[BlockId]
    task.addTaskFailureListener((_, _) => pieces.foreach(SparkEnv.get.blockManager.removeBlock(_)))
    val packer = new RecordPacker
    def cut(): Unit = pieces += leave(StreamBlockId(number, (task.taskAttemptId() << 24) + pieces.size), packer.take())
    records.foreach { record =>
      packer.add(record)
      if (packer.size >= PieceBytes) cut()
    }
    if (packer.size > RestBytes) cut()
    TaskRecords(pieces.toArray, packer.take())
  }

  /** The records of a parcel, fetched as they are asked for; a piece is let go of when it has been fetched. */
  def unpack(parcel: TaskRecords): Iterator[OutgoingRecord] = parcel.pieces.iterator.flatMap(fetched) ++ RecordPacker.records(parcel.rest)

  /** The pieces that wait on the executors, of all epochs. Spark lets go of one some time after it was told to. */
  def waiting: Int = left.size

  private def sweep(): Unit =
    left.filterNot(piece => underWay.contains(piece.streamId)).foreach(SparkEnv.get.blockManager.master.removeBlock)

  private def left: Seq[StreamBlockId] = SparkEnv.get.blockManager.master.getMatchingBlockIds(
    { case StreamBlockId(number, _) => number >= FirstNumber; case _ => false }, askStorageEndpoints = false)
    .map(_.asInstanceOf[StreamBlockId])

  private def leave(piece: BlockId, bytes: Array[Byte]): BlockId = {
    val held = new ChunkedByteBuffer(ByteBuffer.wrap(bytes))
    val level = StorageLevel.MEMORY_AND_DISK_SER
    if (!SparkEnv.get.blockManager.putBytes(piece, held, level)(ClassTag.Byte))
      throw new SparkException(s"the executor has no room for records that wait for Kafka (${bytes.length} bytes)")
    piece
  }

  private def fetched(piece: BlockId): Iterator[OutgoingRecord] = {
    val blocks = SparkEnv.get.blockManager
    val held = blocks.getRemoteBytes(piece).getOrElse(
      throw new SparkException("records for Kafka were lost with the executor that held them"))
    val bytes = held.toArray
    held.dispose()
    blocks.master.removeBlock(piece)
    RecordPacker.records(bytes)
  }
}

/** Writes records one after the other into an array of bytes. */
private final class RecordPacker {
  private val bytes = new ByteArrayOutputStream
  private val out = new DataOutputStream(bytes)

  def size: Int = bytes.size

  /** What has been added since the last time. */
  def take(): Array[Byte] = {
    val taken = bytes.toByteArray
    bytes.reset()
    taken
  }

  def add(record: OutgoingRecord): Unit = {
    put(if (record.topic == null) null else record.topic.getBytes(UTF_8))
    out.writeInt(if (record.partition == null) RecordPacker.Absent else record.partition)
    put(record.key)
    put(record.value)
    out.writeInt(record.headers.length)
    record.headers.foreach { case (name, value) => put(name.getBytes(UTF_8)); put(value) }
  }

  private def put(value: Array[Byte]): Unit =
    if (value == null) out.writeInt(RecordPacker.Absent)
    else {
      out.writeInt(value.length)
      out.write(value)
    }
}

private object RecordPacker {
  private val Absent = Int.MinValue // no length, and no partition that anybody means

  /** The records in an array that a packer gave. */
  def records(bytes: Array[Byte]): Iterator[OutgoingRecord] = new Iterator[OutgoingRecord] {
    private val in = ByteBuffer.wrap(bytes)

    override def hasNext: Boolean = in.hasRemaining

    override def next(): OutgoingRecord = {
      val topic = text(in)
      val partition = in.getInt()
      OutgoingRecord(
        topic, if (partition == Absent) null else Int.box(partition), get(in), get(in),
        Array.fill(in.getInt())((text(in), get(in))))
    }
  }

  private def text(in: ByteBuffer): String = Option(get(in)).map(new String(_, UTF_8)).orNull

  private def get(in: ByteBuffer): Array[Byte] = {
    val length = in.getInt()
    if (length == Absent) null
    else {
      val value = new Array[Byte](length)
      in.get(value)
      value
    }
  }
}
