package org.apache.spark.sql.headrace.decode

import java.util.{ArrayList => JArrayList, LinkedHashMap => JLinkedHashMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkException
import org.apache.spark.sql.types._
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.util.AccumulatorV2

/** One record that doesn't decode: its bytes, why, and where it stands in the source. */
final case class DeadLetter(
    raw: Array[Byte],
    reason: String,
    field: String,
    partition: String,
    position: java.lang.Long,
    readAt: Long) {

  /** About what it costs to hold. */
  def bytes: Long = DeadLetterCollector.Overhead + raw.length + 2L * reason.length
}

/**
 * Brings the dead letters of an epoch from the tasks to the driver, beside the rows. Spark counts only tasks that succeed;
 * a stage that runs twice adds its rejects twice, so what is taken or counted has each position once.
 *
 * It is meant for the odd bad record. More bytes than `limit` in an epoch means that the schema or the format is wrong:
 * the task fails, and so does `take`. With `counting`, rejects have no content and beyond the limit are only added up.
 */
final class DeadLetterCollector(val source: String, val limit: Long, val counting: Boolean)
  extends AccumulatorV2[DeadLetter, java.util.List[DeadLetter]] {

  private val held = new JArrayList[DeadLetter]
  private var bytes = 0L
  private var beyond = 0L

  override def isZero: Boolean = synchronized(held.isEmpty)

  override def copy(): DeadLetterCollector = synchronized {
    val other = new DeadLetterCollector(source, limit, counting)
    other.merge(this)
    other
  }

  override def reset(): Unit = synchronized {
    held.clear()
    bytes = 0L
    beyond = 0L
  }

  override def add(reject: DeadLetter): Unit = synchronized {
    if (!counting && bytes + reject.bytes > limit) throw new TooManyDeadLetters(source, limit, reject.reason)
    hold(reject)
  }

  /** Never throws: Spark only logs what merging throws. The reject that passes the limit is the sign for `take`. */
  override def merge(other: AccumulatorV2[DeadLetter, java.util.List[DeadLetter]]): Unit = synchronized {
    val tasks = other.asInstanceOf[DeadLetterCollector]
    beyond += tasks.beyond
    tasks.held.forEach(reject => hold(reject))
  }

  override def value: java.util.List[DeadLetter] = synchronized(new JArrayList(held))

  /** How many there are since the last `take`. */
  def count: Long = synchronized(distinct.size + beyond)

  /** the dead letters since the last time, each position once, as rows of `DeadLetterCollector.schema`. */
  def take(spark: SparkSession): DataFrame = synchronized {
    if (!counting && bytes > limit) throw new TooManyDeadLetters(source, limit, held.get(held.size - 1).reason)
    val rows = if (counting) Nil else distinct.map(row)
    reset()
    spark.createDataFrame(rows.asJava, DeadLetterCollector.schema)
  }

  /** Keeps the reject, if what is kept is still within the limit. */
  private def hold(reject: DeadLetter): Unit =
    if (bytes > limit) beyond += 1
    else {
      held.add(reject)
      bytes += reject.bytes
    }

  private def distinct: Seq[DeadLetter] = {
    val first = new JLinkedHashMap[Any, DeadLetter]
    held.forEach { reject =>
      val key = if (reject.position == null) new Object else (reject.partition, reject.position)
      first.putIfAbsent(key, reject)
    }
    first.values.asScala.toSeq
  }

  private def row(reject: DeadLetter): Row = Row(
    reject.raw, reject.reason, reject.field, source, reject.partition, reject.position,
    java.time.Instant.ofEpochSecond(reject.readAt / 1000000, reject.readAt % 1000000 * 1000))
}

/** The dead letters of one epoch don't fit in memory; most likely every record is bad, for one reason. */
final class TooManyDeadLetters(source: String, limit: Long, reason: String) extends SparkException(
  s"source `$source`: the dead letters of one batch are more than ${limit >> 20} MiB; the last: $reason " +
    "(hint: check format and schema, read smaller batches, or count bad records with on_error=\"skip\")")

object DeadLetterCollector {
  val Overhead = 100L

  /** The columns of a `dead_letters` output. */
  val schema: StructType = StructType.fromDDL(
    "raw binary, reason string, field string, source string, partition string, position bigint, read_at timestamp")

  /** A collector that Spark knows; one for each source and query. */
  def open(spark: SparkSession, source: String, limit: Long, counting: Boolean): DeadLetterCollector = {
    val collector = new DeadLetterCollector(source, limit, counting)
    spark.sparkContext.register(collector, s"dead letters of $source")
    collector
  }
}
