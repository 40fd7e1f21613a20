package org.apache.spark.sql.headrace.dedup

import java.sql.Timestamp
import java.time.{Duration, Instant}

import org.apache.spark.sql.functions.col
import org.apache.spark.sql.headrace.operators.{Counts, LateReason, OperatorPlan}
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.types._
import org.apache.spark.sql.{DataFrame, Encoders, Row}

/**
 * Drops rows whose key equals that of an accepted row less than `within` microseconds of event time away, or
 * ever accepted if there is no `within`. The first row in arrival order is accepted.
 *
 * A row is late if its event time is `within` or more behind the watermark, so an accepted time expires when
 * the watermark is twice `within` past it.
 */
class Deduplicate(within: Option[Long], timed: Boolean, counts: Counts)
    extends StatefulProcessor[Row, Row, Row] {
  import Deduplicate._

  @transient private var accepted: ListState[Long] = _

  override def init(mode: OutputMode, time: TimeMode): Unit = {
    counts.begin(getHandle)
    accepted = getHandle.getListState[Long]("kept", Encoders.scalaLong, TTLConfig.NONE)
  }

  override def handleInputRows(key: Row, rows: Iterator[Row], timers: TimerValues): Iterator[Row] = {
    val watermark = if (timed) timers.getCurrentWatermarkInMs() * 1000 else 0L
    val before = accepted.get().toVector
    var known = before
    val out = rows.toVector.sortBy(_.getStruct(Position))(arrival).flatMap { row =>
      val time = if (row.isNullAt(Time)) None else Some(row.getLong(Time))
      counts.add(Counts.Rows, 1)
      lateness(time, watermark) match {
        case Some(late) =>
          counts.add(Counts.Late, 1)
          Some(Row(LateTag, null,
              lateRow(row.getStruct(Data), time, watermark, reasonOf(row.getStruct(Data), late))))
        case None if repeats(time, known) =>
          counts.add(Counts.Duplicates, 1)
          None
        case None =>
          counts.add(Counts.Processed, 1)
          known :+= time.getOrElse(0L)
          Some(Row(MainTag, row.getStruct(Data), null))
      }
    }
    if (known.size > before.size) {
      accepted.put(known.toArray)
      if (timed) known.drop(before.size).foreach(time => getHandle.registerTimer(expiresAt(time)))
    }
    out.iterator
  }

  override def handleExpiredTimer(key: Row, timers: TimerValues, timer: ExpiredTimerInfo): Iterator[Row] = {
    val left = accepted.get().filter(time => expiresAt(time) > timer.getExpiryTimeInMs()).toArray
    if (left.isEmpty) accepted.clear() else accepted.put(left)
    Iterator.empty
  }

  private def lateness(time: Option[Long], watermark: Long): Option[String] = (time, within) match {
    case (None, Some(_)) => Some("no_event_time")
    case (Some(t), Some(length)) if timed && t + length <= watermark => Some("too_late")
    case _ => None
  }

  private def repeats(time: Option[Long], known: Vector[Long]): Boolean = within match {
    case Some(length) => known.exists(other => math.abs(time.get - other) < length)
    case None => known.nonEmpty
  }

  /** Rounded up to milliseconds, the resolution of the watermark. */
  private def expiresAt(time: Long): Long = Math.floorDiv(time + 2 * within.get + 999, 1000L)
}

object Deduplicate {
  private val Data = 0
  private val Time = 1
  private val Position = 2
  private val MainTag = "main"
  private val LateTag = "late"

  /** Orders by source, partition and offset; rows without a position keep their order. */
  private val arrival: Ordering[Row] = Ordering.fromLessThan { (a, b) =>
    a != null && b != null && {
      val source = a.getString(0).compareTo(b.getString(0))
      val partition = if (source != 0) source else a.getString(1).compareTo(b.getString(1))
      if (partition != 0) partition < 0 else a.getLong(2) < b.getLong(2)
    }
  }

  private val lateFields = Seq(
    StructField("late_by", DayTimeIntervalType()),
    StructField("window", new StructType().add("start", TimestampType).add("end", TimestampType)),
    StructField("watermark", TimestampType), StructField("reason", StringType))

  /** A row too far ahead of the clock has no event time; its column `__ahead` is true. */
  private def reasonOf(data: Row, reason: String): String = {
    val ahead = data.schema.getFieldIndex("__ahead").filter(at => !data.isNullAt(at) && data.getBoolean(at))
    if (reason == LateReason.NoEventTime && ahead.isDefined) LateReason.AheadOfClock else reason
  }

  private def lateRow(data: Row, time: Option[Long], watermark: Long, reason: String): Row = Row
    .fromSeq(data.toSeq ++ Seq(time.map(t => Duration.ofNanos((watermark - t) * 1000)).orNull, null,
      if (watermark == 0) null else Timestamp.from(Instant.ofEpochMilli(watermark / 1000)), reason))

  /**
   * Returns tagged rows. The columns of `frame` are the structs `key` and `data`, `time` in microseconds, and
   * `position`. Rows are packed in a struct so that Spark does not drop late ones.
   */
  def apply(frame: DataFrame, within: java.lang.Long, counts: Counts): DataFrame = {
    val length = Option(within).map(_.longValue)
    val timed = length.isDefined && frame.isStreaming
    val data = frame.schema("data").dataType.asInstanceOf[StructType]
    val key = StructType(frame.schema("key").dataType.asInstanceOf[StructType].zipWithIndex.map {
      case (column, i) => column.copy(name = OperatorPlan.stateName(column.name, i))
    })
    val late = StructType(data.fields ++ lateFields)
    val tagged = new StructType().add("__output", StringType).add("__main", data).add("__late", late)
    frame.select(col("data"), col("time"), col("position"), col("key"))
      .groupByKey((row: Row) => row.getStruct(3))(Encoders.row(key))
      .transformWithState[Row](new Deduplicate(length, timed, counts),
        if (timed) TimeMode.EventTime() else TimeMode.None(), OutputMode.Append())(Encoders.row(tagged))
  }
}
