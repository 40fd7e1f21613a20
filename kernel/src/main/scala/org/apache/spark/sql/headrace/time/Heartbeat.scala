package org.apache.spark.sql.headrace.time

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.headrace.sources.{RowSplit, RowStream, StreamTable}
import org.apache.spark.sql.types.{StructType, TimestampType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Event times of heartbeats by name, set by the driver.
 *
 * A source is unioned with the heartbeat of its name, whose rows advance the watermark. A heartbeat never
 * goes back; its offset is in the checkpoint.
 */
object Heartbeat {
  /** Source format, with options `name` and `wakes` and the column `heartbeat timestamp`. */
  val Format: String = classOf[HeartbeatProvider].getName
  private val reached = new ConcurrentHashMap[String, java.lang.Long]()

  def raiseTo(name: String, millis: Long): Unit = reached.merge(name, millis, (a, b) => math.max(a, b))

  /** Removes a heartbeat at the end of a run. */
  def forget(name: String): Unit = reached.remove(name)
  def of(name: String): Option[Long] = Option(reached.get(name)).map(_.longValue)
}

/** Streams a heartbeat: one row each time it has advanced. */
class HeartbeatProvider extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table = {
    val name = Option(options.get("name"))
      .getOrElse(throw new IllegalArgumentException("a heartbeat needs the option `name`"))
    new StreamTable(s"heartbeat of $name", HeartbeatStream.Schema)(
      new HeartbeatStream(name, options.getBoolean("wakes", false)))
  }
}

/**
 * One heartbeat in one query. Its offset is the event time, so a restarted query resumes from it even if the
 * new driver has set nothing yet. With unchanged offsets Spark substitutes an empty relation, which its
 * optimiser removes with the union.
 *
 * With `wakes`, the first offset of a run is new but brings no row: Spark runs no empty batch before one with
 * data, so after a restart clock timers would wait for the next row.
 */
private class HeartbeatStream(name: String, wakes: Boolean) extends RowStream {
  /** Under AvailableNow, the time reached at the start of the run; otherwise the run would never end. */
  @volatile private var limit: Option[Long] = None

  /** Number of runs including this one, once its start offset is known. */
  @volatile private var woken: Option[Long] = None
  override def initialOffset(): Offset = HeartbeatOffset(HeartbeatStream.Never, 0)
  override def deserializeOffset(json: String): Offset = HeartbeatOffset.parse(json)
  override def prepareForTriggerAvailableNow(): Unit =
    limit = Some(Heartbeat.of(name).getOrElse(HeartbeatStream.Never))

  /** Returns null, so that Spark logs no offset, until the heartbeat is first set. */
  override def latestOffset(start: Offset, ignored: ReadLimit): Offset = {
    val HeartbeatOffset(from, before) = start.asInstanceOf[HeartbeatOffset]
    if (wakes && woken.isEmpty) woken = Some(before + 1)
    val now = Heartbeat.of(name).map(millis => limit.fold(millis)(math.min(_, millis)))
    val reached = now.fold(from)(math.max(from, _))
    val next = HeartbeatOffset(reached, woken.fold(before)(math.max(before, _)))
    if (next == initialOffset()) null else next
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = (start, end) match {
    case (HeartbeatOffset(from, _), HeartbeatOffset(to, _)) if from != to => Array(HeartbeatSplit(to))
    case _ => Array.empty
  }

  override def toString: String = s"heartbeat of $name"
}

private object HeartbeatStream {
  val Schema: StructType = new StructType().add("heartbeat", TimestampType)

  /** Before any event time. */
  val Never: Long = Long.MinValue
}

private case class HeartbeatOffset(millis: Long, wakes: Long) extends Offset {
  override def json(): String = if (wakes == 0) millis.toString else s"[$millis,$wakes]"
}

private object HeartbeatOffset {
  def parse(json: String): HeartbeatOffset = json.stripPrefix("[").stripSuffix("]").split(',') match {
    case Array(millis, wakes) => HeartbeatOffset(millis.toLong, wakes.toLong)
    case Array(millis) => HeartbeatOffset(millis.toLong, 0)
  }
}

private case class HeartbeatSplit(millis: Long) extends RowSplit {
  override def rows: Iterator[InternalRow] = Iterator.single(InternalRow(millis * 1000L))
}
