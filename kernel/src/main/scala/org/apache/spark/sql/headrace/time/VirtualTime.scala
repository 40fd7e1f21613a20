package org.apache.spark.sql.headrace.time

import java.util.concurrent.TimeUnit

import org.apache.spark.sql.classic.ClassicConversions.castToImpl
import org.apache.spark.sql.classic.{Dataset, StreamingQuery}
import org.apache.spark.sql.execution.streaming.sources.{ForeachBatchSink, PythonForeachBatchFunction}
import org.apache.spark.sql.streaming.{OutputMode, Trigger}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.util.{Clock, ManualClock}

/**
 * Queries whose clock stands still until it is told, and that run a micro-batch only when they are asked to. A test
 * that steps them never sleeps, and what comes out doesn't depend on how fast the machine is.
 */
object VirtualTime {
  /** A clock that several queries share; it starts at 0. */
  def clock(): ManualClock = new ManualClock(0L)

  /**
   * Start a query and return when it stands at its first turn. If the checkpoint holds an epoch that was not committed,
   * that epoch has been run again by then.
   */
  def start(
      frame: DataFrame,
      deliver: PythonForeachBatchFunction,
      mode: String,
      name: String,
      checkpoint: String,
      clock: ManualClock): SteppedQuery = {
    val dataset: Dataset[Row] = castToImpl(frame)
    val turns = new StepClock(clock)
    val sink = new ForeachBatchSink[Row]((batch, epoch) => deliver.call(batch, epoch), dataset.exprEnc)
    val query = dataset.sparkSession.sessionState.streamingQueryManager.startQuery(
      userSpecifiedName = Some(name),
      userSpecifiedCheckpointLocation = Some(checkpoint),
      df = dataset,
      extraOptions = Map.empty,
      sink = sink,
      outputMode = VirtualTime.outputMode(mode),
      trigger = Trigger.ProcessingTime(1L),
      triggerClock = turns)
    val stepped = new SteppedQuery(query, turns)
    stepped.await()
    stepped
  }

  private def outputMode(word: String): OutputMode = word match {
    case "append" => OutputMode.Append()
    case "update" => OutputMode.Update()
    case "complete" => OutputMode.Complete()
  }
}

/** A query in virtual time. */
class SteppedQuery(val query: StreamingQuery, turns: StepClock) {
  /**
   * Let the query look at its sources once: it runs a micro-batch if there is new data, or if Spark wants one without
   * data because the watermark has moved or a timer is due. Returns when it waits again.
   */
  def step(): Unit = {
    turns.open()
    await()
  }

  /** Wait until the query stands at its next turn; if it has died, throw what it died of. */
  def await(): Unit = {
    turns.await(() => query.isActive)
    query.exception.foreach(throw _)
  }

  /** Stop without any farewell: the checkpoint stays as it is. */
  def stop(): Unit = query.stop()
}

/** The clock of one query: the time is that of the shared clock, and to wait for a time is to wait for a turn. */
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

  /** Let the query pass once. */
  def open(): Unit = synchronized {
    permits += 1
    waiting = false
    notifyAll()
  }

  /** Wait until the query waits, or is no longer alive. */
  def await(alive: () => Boolean): Unit = synchronized {
    while (!waiting && alive()) wait(StepClock.LookAgainMillis)
  }
}

object StepClock {
  /** A query that dies doesn't notify. */
  private val LookAgainMillis = 5L
}
