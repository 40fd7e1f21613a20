package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec

/** What an operator before a step can know of the batch that is being run. */
object BatchWatermark {
  /** The watermark of the task that rows go to, in milliseconds; none outside of a batch. */
  def watermark(session: SparkSession, step: Any => Boolean): Option[Long] = for {
    id <- Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
    running <- Option(SQLExecution.getQueryExecution(id.toLong))
    task <- running.executedPlan.collectFirst { case t: TransformWithStateExec if step(t.statefulProcessor) => t }
    millis <- task.eventTimeWatermarkForEviction
  } yield millis
}
