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
 * Records on their way from a task to the driver: blocks that stay on the executor, in memory or on disk,
 * until the driver fetches them one by one, and a remainder that is part of the task's result. The driver
 * thus holds one block at a time, independent of the size of an epoch.
 */
final case class TaskRecords(blocks: Array[BlockId], remainder: Array[Byte])

object BlockTransfer {
  /** Block size: small for a driver's memory, large enough to amortise a fetch. */
  private val BlockBytes = 4 << 20

  /** Maximum size of the remainder; Spark limits the sum over all tasks (`spark.driver.maxResultSize`). */
  private val RemainderBytes = 64 << 10

  /** Spark's own streams use the same block names, numbered from 0. */
  private val FirstNumber = 1 << 30
  private val numbers = new AtomicInteger(FirstNumber)
  private val active = ConcurrentHashMap.newKeySet[Int]

  /** Starts an epoch; its number identifies its blocks. */
  def begin(): Int = {
    val number = numbers.getAndIncrement()
    active.add(number)
    number
  }

  /** Removes all blocks of an epoch; those that a failed task writes later go with the next epoch. */
  def end(number: Int): Unit = {
    active.remove(number)
    removeInactive()
  }

  def pack(records: Iterator[OutgoingRecord], number: Int): TaskRecords = {
    val task = TaskContext.get()
    val blocks = ArrayBuffer.empty[BlockId]
    task.addTaskFailureListener((_, _) => blocks.foreach(SparkEnv.get.blockManager.removeBlock(_)))
    val packer = new RecordPacker
    def flush(): Unit = blocks +=
      storeBlock(StreamBlockId(number, (task.taskAttemptId() << 24) + blocks.size), packer.take())
    records.foreach { record =>
      packer.add(record)
      if (packer.size >= BlockBytes) flush()
    }
    if (packer.size > RemainderBytes) flush()
    TaskRecords(blocks.toArray, packer.take())
  }

  /** Iterates the records, fetching blocks on demand; a fetched block is removed. */
  def unpack(taskRecords: TaskRecords): Iterator[OutgoingRecord] = taskRecords.blocks.iterator
    .flatMap(fetchBlock) ++ RecordPacker.records(taskRecords.remainder)

  /** Number of blocks on the executors. Spark removes blocks asynchronously. */
  def waiting: Int = storedBlocks.size
  private def removeInactive(): Unit = storedBlocks.filterNot(block => active.contains(block.streamId))
    .foreach(SparkEnv.get.blockManager.master.removeBlock)

  private def storedBlocks: Seq[StreamBlockId] = SparkEnv.get.blockManager.master.getMatchingBlockIds({
      case StreamBlockId(number, _) => number >= FirstNumber; case _ => false
    }, askStorageEndpoints = false).map(_.asInstanceOf[StreamBlockId])

  private def storeBlock(block: BlockId, bytes: Array[Byte]): BlockId = {
    val buffer = new ChunkedByteBuffer(ByteBuffer.wrap(bytes))
    val level = StorageLevel.MEMORY_AND_DISK_SER
    if (!SparkEnv.get.blockManager.putBytes(block, buffer, level)(ClassTag.Byte)) throw new SparkException(
      s"the executor has no room for records that wait for Kafka (${bytes.length} bytes)")
    block
  }

  private def fetchBlock(block: BlockId): Iterator[OutgoingRecord] = {
    val blocks = SparkEnv.get.blockManager
    val buffer = blocks.getRemoteBytes(block)
      .getOrElse(throw new SparkException("records for Kafka were lost with the executor that held them"))
    val bytes = buffer.toArray
    buffer.dispose()
    blocks.master.removeBlock(block)
    RecordPacker.records(bytes)
  }
}

/** Serialises records into a byte array. */
private final class RecordPacker {
  private val bytes = new ByteArrayOutputStream
  private val out = new DataOutputStream(bytes)
  def size: Int = bytes.size

  /** Returns and clears the bytes. */
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
  private val Absent = Int.MinValue // neither a length nor a partition

  def records(bytes: Array[Byte]): Iterator[OutgoingRecord] = new Iterator[OutgoingRecord] {
    private val in = ByteBuffer.wrap(bytes)
    override def hasNext: Boolean = in.hasRemaining

    override def next(): OutgoingRecord = {
      val topic = text(in)
      val partition = in.getInt()
      OutgoingRecord(topic, if (partition == Absent) null else Int.box(partition), get(in), get(in),
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
