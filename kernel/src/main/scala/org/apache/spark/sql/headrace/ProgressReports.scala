package org.apache.spark.sql.headrace

import java.util.UUID
import java.util.concurrent.LinkedBlockingQueue

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.streaming.StreamingQueryListener._
import org.apache.spark.sql.streaming.{StreamingQueryListener, StreamingQueryProgress}

/**
 * Queues the progress reports of a session's queries for Python. A Python listener would be called back for
 * each figure, about a hundred calls per batch while the next one is planned.
 */
final class ProgressReports(session: SparkSession) extends StreamingQueryListener {
  private val reports = new LinkedBlockingQueue[QueryReport]
  session.streams.addListener(this)

  override def onQueryStarted(event: QueryStartedEvent): Unit = ()
  override def onQueryProgress(event: QueryProgressEvent): Unit = reports
    .put(QueryReport(event.progress.runId, Some(event.progress)))
  override def onQueryTerminated(event: QueryTerminatedEvent): Unit = reports
    .put(QueryReport(event.runId, None))

  /** Waits for the next report. It is serialised on access. */
  def next(): QueryReport = reports.take()

  /** Stops listening; a waiting caller receives a report without a query. */
  def close(): Unit = {
    session.streams.removeListener(this)
    reports.put(QueryReport(null, None))
  }
}

/** Progress of a batch, or the end of a run if there is no progress. */
final case class QueryReport(run: UUID, progress: Option[StreamingQueryProgress]) {
  def runId: String = if (run == null) null else run.toString
  def json: String = progress.map(_.json).orNull
}
