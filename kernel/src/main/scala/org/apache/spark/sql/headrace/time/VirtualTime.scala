package org.apache.spark.sql.headrace.time

import java.util.concurrent.TimeUnit

import org.apache.spark.sql.classic.ClassicConversions.castToImpl
import org.apache.spark.sql.classic.{Dataset, StreamingQuery}
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation
import org.apache.spark.sql.execution.streaming.runtime.{StreamingExecutionRelation, StreamingQueryWrapper}
import org.apache.spark.sql.execution.streaming.sources.{ForeachBatchSink, PythonForeachBatchFunction}
import org.apache.spark.sql.streaming.{OutputMode, Trigger}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.util.{Clock, ManualClock}

/** Runs queries on a manual clock, one micro-batch per step, so that tests never sleep. */
object VirtualTime {
  /** Creates a clock that several queries share, starting at 0. */
  def clock(): ManualClock = new ManualClock(0L)

  /** Starts a query and returns when it waits for its first step, after a recovered epoch. */
  def start(frame: DataFrame, deliver: PythonForeachBatchFunction, mode: String, name: String,
      checkpoint: String, clock: ManualClock): SteppedQuery = {
    val dataset: Dataset[Row] = castToImpl(frame)
    val steps = new StepClock(clock)
    val sink = new ForeachBatchSink[Row]((batch, epoch) => deliver.call(batch, epoch), dataset.exprEnc)
    val query = dataset.sparkSession.sessionState.streamingQueryManager.startQuery(
      userSpecifiedName = Some(name), userSpecifiedCheckpointLocation = Some(checkpoint), df = dataset,
      extraOptions = Map.empty, sink = sink, outputMode = VirtualTime.outputMode(mode),
      trigger = Trigger.ProcessingTime(1L), triggerClock = steps)
    val stepped = new SteppedQuery(query, steps)
    stepped.await()
    stepped
  }

  private def outputMode(word: String): OutputMode = word match {
    case "append" => OutputMode.Append()
    case "update" => OutputMode.Update()
    case "complete" => OutputMode.Complete()
  }
}

class SteppedQuery(val query: StreamingQuery, steps: StepClock) {
  /**
   * Limits the sources to the data that is available now, as Spark does for `Trigger.AvailableNow`; under
   * that trigger a query with processing-time timers would never end.
   */
  def limitSources(): Unit = query match {
    case wrapper: StreamingQueryWrapper =>
      val sources = wrapper.streamingQuery.logicalPlan.collect {
        case scan: StreamingDataSourceV2ScanRelation => scan.stream
        case relation: StreamingExecutionRelation => relation.source
      }
      sources.distinct.foreach {
        case source: SupportsTriggerAvailableNow => source.prepareForTriggerAvailableNow()
        case _ => ()
      }
    case other => throw new IllegalStateException(s"expected a query on this driver, got $other")
  }

  /** Lets the query poll its sources once and run a micro-batch; returns when it waits again. */
  def step(): Unit = {
    steps.open()
    await()
  }

  /** Waits until the query waits for its next step; rethrows its error. */
  def await(): Unit = {
    steps.await(() => query.isActive)
    query.exception.foreach(throw _)
  }

  /** Stops without a commit; the checkpoint stays unchanged. */
  def stop(): Unit = query.stop()
}

/** The clock of one query: shows the shared time, and waiting for a time waits for a step. */
class StepClock(clock: ManualClock) extends Clock {
  private var permits = 0
  private var waiting = false
  override def getTimeMillis(): Long = clock.getTimeMillis()
  override def nanoTime(): Long = TimeUnit.MILLISECONDS.toNanos(getTimeMillis())

  override def waitTillTime(ignored: Long): Long = synchronized {
    waiting = true
    notifyAll()
    while (permits == 0) wait()
    permits -= 1
    getTimeMillis()
  }

  def open(): Unit = synchronized {
    permits += 1
    waiting = false
    notifyAll()
  }

  /** Waits until the query waits or has ended. */
  def await(alive: () => Boolean): Unit =
    synchronized { while (!waiting && alive()) wait(StepClock.PollMillis) }
}

object StepClock {
  /** A failing query does not notify. */
  private val PollMillis = 5L
}
