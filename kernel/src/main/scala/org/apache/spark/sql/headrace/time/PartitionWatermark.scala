package org.apache.spark.sql.headrace.time

import java.nio.file.Paths
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan}
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.classic.ClassicConversions.castToImpl
import org.apache.spark.sql.classic.Strategy
import org.apache.spark.sql.connector.read.streaming.{Offset, SupportsAdmissionControl}
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec
import org.apache.spark.sql.execution.streaming.operators.stateful.EventTimeWatermarkExec
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan}
import org.apache.spark.sql.headrace.operators.OperatorPlan
import org.apache.spark.sql.{DataFrame, classic}
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}
import org.apache.spark.util.{Clock, SystemClock}

/** Watermarks that are computed per source partition. All functions are called from Python. */
object PartitionWatermark {
  /** Rows carry the name of their source partition in this column; heartbeats have null. */
  val PartitionColumn = "__partition"

  private case class Tracked(name: String, times: PartitionTimes)

  private val tracked = new ConcurrentHashMap[UUID, Tracked]()

  /**
   * Computes the watermark of a frame per partition. The topmost operator of the frame's plan that
   * has a watermark must have the partition column.
   *
   * @param name the name of the heartbeat that `tick` raises
   * @param idleMillis the `idle` setting of the step, negative if it is unset
   * @param clock null for the system's
   * @param directory where to store the highest event times; null for nowhere
   * @param partitioned true if rows differ in their partition: then Spark prunes the partition column only in
   *   a micro-batch of heartbeats alone
   */
  def track(frame: DataFrame, name: String, idleMillis: Long, clock: Clock, directory: String,
      partitioned: Boolean): Unit = {
    val dataset = castToImpl(frame)
    val node = dataset.queryExecution.analyzed.collectFirst { case node: EventTimeWatermark => node }.get
    val store = Option(directory).map(path => new PartitionTimesStore(Paths.get(path)))
    val times = new PartitionTimes(idleMillis, Option(clock).getOrElse(new SystemClock), store, partitioned)
    tracked.put(node.nodeId, Tracked(name, times))
    OperatorPlan.addStrategy(dataset.sparkSession, Planner)
  }

  /** Raises the heartbeat of a name if time alone has advanced every watermark of that name. */
  def tick(name: String): Unit = {
    val reached = of(name).map(_.tick())
    if (reached.nonEmpty && reached.forall(_.isDefined)) Heartbeat.raiseTo(name, reached.flatten.min)
  }

  /** Returns `{"partition": ..., "millis": ...}` of the slowest partition of a name, or null. */
  def slowest(name: String): String = of(name).flatMap(_.slowest).minByOption(_._2).map(asJson).orNull

  /** Returns the delays of the rows of a name as JSON. */
  def delays(name: String): String = {
    val sums = new EventDelays
    of(name).foreach(times => sums.merge(times.delays))
    sums.json
  }

  /** Returns the partition furthest ahead of the clock, as `slowest`; null if none is by `limitMillis`. */
  def ahead(name: String, limitMillis: Long): String = of(name).flatMap(_.ahead(limitMillis))
    .maxByOption(_._2).map(asJson).orNull

  private def asJson(partition: (String, Long)): String = mapper
    .writeValueAsString(Map[String, Any]("partition" -> partition._1,
        "millis" -> (if (partition._2 == PartitionTimes.Never) null else partition._2)).asJava)

  /** Drops the trackers of a name; its queries must have ended. */
  def forget(name: String): Unit = tracked.values().removeIf(_.name == name)

  private def of(name: String): Seq[PartitionTimes] = tracked.values().asScala.filter(_.name == name)
    .map(_.times).toSeq

  private val mapper = new ObjectMapper()

  object Planner extends Strategy {
    override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
      // Real-time mode accepts no operators but Spark's own.
      case EventTimeWatermark(id, time, delay, child)
          if tracked.containsKey(id) && !OperatorPlan.isRealTime(child) =>
        new PartitionWatermarkExec(id, time, delay, planLater(child), tracked.get(id).times) :: Nil
      case _ => Nil
    }
  }
}

/**
 * Spark's watermark operator with statistics per partition, as part of generated code. Spark collects
 * the operators of its own class from the executed plan, so this is a subclass.
 */
class PartitionWatermarkExec private (nodeId: UUID, eventTime: Attribute, delay: CalendarInterval,
    child: SparkPlan, @transient private val times: PartitionTimes,
    override val eventTimeStats: PartitionStats)
    extends EventTimeWatermarkExec(nodeId, eventTime, delay, child) with CodegenSupport {

  def this(nodeId: UUID, eventTime: Attribute, delay: CalendarInterval, child: SparkPlan,
      times: PartitionTimes) = this(
    nodeId, eventTime, delay, child, times,
    new PartitionStats((rows, delays) => {
        times.addDelays(delays)
        times.complete(UnreadPartitions.currentEpoch, rows, UnreadPartitions.of(child))
      }, times.highestTimes))

  private def timeAt: Int = child.output.indexWhere(_.exprId == eventTime.exprId)

  /** Negative in a micro-batch without heartbeats, if the partition is a constant that Spark has pruned. */
  private def partitionAt: Int = child.output.indexWhere(_.name == PartitionWatermark.PartitionColumn)

  override def nodeName: String = "EventTimeWatermark"
  override def usedInputs: AttributeSet = AttributeSet(eventTime +: child.output.lift(partitionAt).toSeq)
  override def inputRDDs(): Seq[RDD[InternalRow]] = child.asInstanceOf[CodegenSupport].inputRDDs()
  override protected def otherCopyArgs: Seq[AnyRef] = times :: Nil
  override protected def withNewChildInternal(next: SparkPlan): PartitionWatermarkExec =
    new PartitionWatermarkExec(nodeId, eventTime, delay, next, times)

  /**
   * Spark's stateful operators serialize their child plan with their closures, although tasks do not use it.
   * This operator cannot be serialized: the statistics of the superclass are replaced and hence never
   * registered.
   */
  protected def writeReplace(): AnyRef = child

  override protected def doExecute(): RDD[InternalRow] = {
    times.begin()
    val (stats, time, partition) = (eventTimeStats, timeAt, partitionAt)
    val unnamed = if (times.partitioned) null else UTF8String.EMPTY_UTF8
    child.execute().map { row =>
      val millis = if (row.isNullAt(time)) 0L else DateTimeUtils.microsToMillis(row.getLong(time))
      val name =
        if (partition < 0) unnamed else if (row.isNullAt(partition)) null else row.getUTF8String(partition)
      stats.add(name, !row.isNullAt(time), millis)
      row
    }
  }

  override protected def doProduce(context: CodegenContext): String = {
    times.begin()
    child.asInstanceOf[CodegenSupport].produce(context, this)
  }

  override def doConsume(context: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    val stats = context.addReferenceObj("eventTimes", eventTimeStats)
    val time = input(timeAt)
    val string = classOf[UTF8String].getName
    val unnamed = if (times.partitioned) s"(($string) null)" else s"$string.EMPTY_UTF8"
    val partition = input.lift(partitionAt).fold(unnamed) { name =>
      s"(${name.isNull} ? null : ${name.value})"
    }
    val millis = s"${DateTimeUtils.getClass.getName}.MODULE$$.microsToMillis(${time.value})"
    s"""
       |$stats.add($partition, !${time.isNull}, ${time.isNull} ? 0L : $millis);
       |${consume(context, input)}
     """.stripMargin
  }
}

/** Reads from a micro-batch's plan which source partitions have records that it does not read. */
private object UnreadPartitions {
  private val mapper = new ObjectMapper()

  /** The micro-batch that this thread runs. */
  def currentEpoch: Option[Long] =
    Option(classic.SparkSession.active.sparkContext.getLocalProperty(MicroBatchExecution.BATCH_ID_KEY))
      .map(_.toLong)

  /** Partitions whose end offset in this micro-batch is below the latest offset that its source knows. */
  def of(plan: SparkPlan): Set[String] = plan.collect { case scan: MicroBatchScanExec => scan }
    .flatMap { scan =>
      scan.stream match {
        case source: SupportsAdmissionControl =>
          val read = offsets(scan.end)
          latest(source).fold(read.keySet) {
            _.filter { case (name, end) => read.get(name).forall(_ < end) }.keySet
          }
        case _ => Nil
      }
    }.toSet

  /**
   * The latest offsets of a source. None in a replayed micro-batch, for which Kafka's source has not looked
   * them up: its offset then has no map, and any partition may have unread records.
   */
  private def latest(source: SupportsAdmissionControl): Option[Map[String, Long]] =
    try Some(offsets(source.reportLatestOffset()))
    catch { case _: NullPointerException => None }

  /** Offsets of the form `{"topic": {"0": 12}}`, by `topic-0`; none of any other form. */
  private def offsets(offset: Offset): Map[String, Long] = {
    val topics = Option(offset).map(offset => mapper.readTree(offset.json())).filter(_.isObject)
    topics.toSeq.flatMap(_.properties().asScala).filter(_.getValue.isObject).flatMap { topic =>
      topic.getValue.properties().asScala
        .map(entry => s"${topic.getKey}-${entry.getKey}" -> entry.getValue.asLong)
    }.toMap
  }
}
