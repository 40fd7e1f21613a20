package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec

/**
 * The watermark of the micro-batch that is being executed, for operators before a stateful step.
 */
object BatchWatermark {
  /**
   * Watermark in milliseconds of the stateful operator that matches `step`; None outside a query.
   */
  def watermark(session: SparkSession, step: Any => Boolean): Option[Long] = for {
    id <- Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
    running <- Option(SQLExecution.getQueryExecution(id.toLong))
    task <- running.executedPlan.collectFirst { case t: TransformWithStateExec if step(t.statefulProcessor) => t }
    millis <- task.eventTimeWatermarkForEviction
  } yield millis
}
