package org.apache.spark.sql.headrace.decode

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{ArrayList => JArrayList, Base64, LinkedHashMap => JLinkedHashMap, UUID}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.fs.Path
import org.apache.spark.deploy.SparkHadoopUtil
import org.apache.spark.sql.functions.{col, lit, timestamp_micros}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.util.AccumulatorV2

/** One record that could not be decoded: its bytes, the reason, and its position in the source. */
final case class DeadLetter(raw: Array[Byte], reason: String, field: String, partition: String,
    position: java.lang.Long, readAt: Long) {
  /** The approximate size in memory. */
  def bytes: Long = DeadLetterCollector.Overhead + raw.length + 2L * reason.length
}

/**
 * Carries the dead letters of an epoch from the tasks to the driver, beside the rows. Spark merges the values
 * of successful tasks only; a stage that runs twice adds its dead letters twice, so `take` and `count` keep
 * each position once.
 *
 * More than `limit` bytes are spilled to files, by tasks and by the driver; the collector then carries their
 * names.
 *
 * @param counting keep no content, only counts
 * @param directory of spilled files, on storage that tasks and driver share
 */
final class DeadLetterCollector(val source: String, val limit: Long, val counting: Boolean,
    val directory: String)
    extends AccumulatorV2[DeadLetter, java.util.List[DeadLetter]] {
  private val held = new JArrayList[DeadLetter]
  private val spilled = new JArrayList[String]
  private var bytes = 0L
  private var beyond = 0L
  @transient private var stale = false
  override def isZero: Boolean = synchronized(held.isEmpty && spilled.isEmpty && beyond == 0)

  override def copy(): DeadLetterCollector = synchronized {
    val other = new DeadLetterCollector(source, limit, counting, directory)
    other.held.addAll(held)
    other.spilled.addAll(spilled)
    other.bytes = bytes
    other.beyond = beyond
    other
  }

  override def reset(): Unit = synchronized {
    held.clear()
    spilled.clear()
    bytes = 0L
    beyond = 0L
  }

  override def add(letter: DeadLetter): Unit = synchronized(hold(letter))

  override def merge(other: AccumulatorV2[DeadLetter, java.util.List[DeadLetter]]): Unit = synchronized {
    val tasks = other.asInstanceOf[DeadLetterCollector]
    beyond += tasks.beyond
    spilled.addAll(tasks.spilled)
    tasks.held.forEach(letter => hold(letter))
  }

  override def value: java.util.List[DeadLetter] = synchronized(new JArrayList(held))

  /** The number of dead letters since the last `take`, each position once. */
  def count(spark: SparkSession): Long =
    synchronized { if (spilled.isEmpty) distinct.size + beyond else rows(spark).count() }

  /** The dead letters since the last `take`, each position once, as rows of `DeadLetterCollector.schema`. */
  def take(spark: SparkSession): DataFrame = synchronized {
    val taken = rows(spark)
    stale = stale || !spilled.isEmpty
    reset()
    taken
  }

  /** Starts an epoch: drops the dead letters of an epoch that failed, and the files of the one before. */
  def clear(): Unit = synchronized {
    if (stale || !spilled.isEmpty) deleteFiles()
    stale = false
    reset()
  }

  private def deleteFiles(): Unit = {
    val path = new Path(directory)
    path.getFileSystem(SparkHadoopUtil.get.conf).delete(path, true)
  }

  private def hold(letter: DeadLetter): Unit =
    if (counting && bytes > limit) beyond += 1
    else {
      held.add(letter)
      bytes += letter.bytes
      if (!counting && bytes > limit) spill()
    }

  /** Writes the dead letters in memory to a file of JSON lines. */
  private def spill(): Unit = {
    val path = new Path(directory, s"${UUID.randomUUID()}.json")
    val out = path.getFileSystem(SparkHadoopUtil.get.conf).create(path)
    try held.forEach(letter => out.write(DeadLetterCollector.line(letter).getBytes(UTF_8)))
    finally out.close()
    spilled.add(path.toString)
    held.clear()
    bytes = 0L
  }

  private def rows(spark: SparkSession): DataFrame = {
    val stored = if (counting) Nil else distinct.map(row)
    val inMemory = spark.createDataFrame(stored.asJava, DeadLetterCollector.schema)
    if (spilled.isEmpty) inMemory
    else {
      val stored = spark.read.schema(DeadLetterCollector.stored).json(spilled.asScala.toSeq: _*)
      val read = stored.withColumn("source", lit(source))
        .withColumn("read_at", timestamp_micros(col("read_at")))
      val all = inMemory.unionByName(read)
      // A record without a position can't be recognised as a duplicate.
      val unique = all.where(col("position").isNotNull).dropDuplicates("partition", "position")
      unique.unionByName(all.where(col("position").isNull))
    }
  }

  private def distinct: Seq[DeadLetter] = {
    val first = new JLinkedHashMap[Any, DeadLetter]
    held.forEach { letter =>
      val key = if (letter.position == null) new Object else (letter.partition, letter.position)
      first.putIfAbsent(key, letter)
    }
    first.values.asScala.toSeq
  }

  private def row(letter: DeadLetter): Row = Row(
    letter.raw, letter.reason, letter.field, source, letter.partition, letter.position,
    java.time.Instant.ofEpochSecond(letter.readAt / 1000000, letter.readAt % 1000000 * 1000))
}

object DeadLetterCollector {
  val Overhead = 100L

  /** The columns of a `dead_letters` output. */
  val schema: StructType = StructType
    .fromDDL("raw binary, reason string, field string, source string, partition string, position bigint, " +
      "read_at timestamp")

  /** The columns of a spilled file. */
  private val stored: StructType = StructType
    .fromDDL("raw binary, reason string, field string, partition string, position bigint, read_at bigint")
  private lazy val json = new ObjectMapper

  /** Registers a collector; there is one for each source and query. */
  def open(spark: SparkSession, source: String, limit: Long, counting: Boolean, directory: String)
      : DeadLetterCollector = {
    val collector = new DeadLetterCollector(source, limit, counting, directory)
    collector.deleteFiles()
    spark.sparkContext.register(collector, s"dead letters of $source")
    collector
  }

  private def line(letter: DeadLetter): String = {
    val node = json.createObjectNode()
    node.put("raw", Base64.getEncoder.encodeToString(letter.raw))
    node.put("reason", letter.reason).put("field", letter.field).put("partition", letter.partition)
    node.put("position", letter.position).put("read_at", letter.readAt)
    s"$node\n"
  }
}
