package org.apache.spark.sql.headrace

import java.util.UUID
import java.util.concurrent.LinkedBlockingQueue

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.streaming.StreamingQueryListener._
import org.apache.spark.sql.streaming.{StreamingQueryListener, StreamingQueryProgress}

/**
 * What Spark reports of a session's queries, to be fetched by Python: each report is one text.
 *
 * A listener in Python is called with every report, and asks back for each figure in it: some hundred calls across processes
 * just when the next batch is planned, for which rows in real time wait.
 */
final class ProgressReports(session: SparkSession) extends StreamingQueryListener {
  private val heard = new LinkedBlockingQueue[QueryReport]
  session.streams.addListener(this)

  override def onQueryStarted(event: QueryStartedEvent): Unit = ()
  override def onQueryProgress(event: QueryProgressEvent): Unit =
    heard.put(QueryReport(event.progress.runId, Some(event.progress)))
  override def onQueryTerminated(event: QueryTerminatedEvent): Unit = heard.put(QueryReport(event.runId, None))

  /** The next report, when there is one. It is made a text when it is fetched, so that whoever fetches it chooses when. */
  def next(): QueryReport = heard.take()

  /** Nothing is heard any more. Who waits for a report gets one of no query. */
  def close(): Unit = {
    session.streams.removeListener(this)
    heard.put(QueryReport(null, None))
  }
}

/** What was said of a query's run: how a batch went, or, without progress, that it has ended. */
final case class QueryReport(run: UUID, progress: Option[StreamingQueryProgress]) {
  def runId: String = if (run == null) null else run.toString
  def json: String = progress.map(_.json).orNull
}
