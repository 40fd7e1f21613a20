package org.apache.spark.sql.headrace.python

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.catalyst.plans.logical.MapInArrow
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.operators.{Counts, KeyEncoder, OperatorPlan, PlannedNode}
import org.apache.spark.sql.streaming.TimeMode
import org.apache.spark.sql.types.StructType

import scala.jdk.CollectionConverters._

/** Plans a processor in Python; the output is tagged rows. */
object PythonOperator {
  /**
   * Plans a step over a stream. Called from Python.
   *
   * @param name the step's name
   * @param mapped any frame that applies the step's Python function with `mapInArrow`
   * @param timed true if rows have event time and the stream a watermark
   * @param clockTime true if the clock is the watermark
   * @param clockTimers true if the processor has timers or state that depend on the clock
   */
  def apply(frame: Dataset[Row], name: String, keyNames: java.util.List[String], mapped: Dataset[Row],
      timed: Boolean, clockTime: Boolean, clockTimers: Boolean, counts: Counts): Dataset[Row] = {
    val session = frame.sparkSession.asInstanceOf[SparkSession]
    val (child, _) = OperatorPlan.hideWatermark(OperatorPlan.planOf(frame))
    val names = keyNames.asScala.toSeq
    val step = PythonStep(
      name, functionOf(mapped), mapped.schema, clockTime, timed && !clockTime, clockTimers || clockTime)
    val inner = names.map(n => child.output.find(_.name == n).get)
    val gathered = PlannedNode.add(session, Gather(step, inner, child))
    val keys = names.map(n => gathered.output.find(_.name == n).get)
    val processor = new PythonProcessor(step, keys, gathered.output, KeyEncoder.encoder(keys), counts)
    val tagged = StructType(mapped.schema.fields.dropRight(PythonStep.Control.length))
    OperatorPlan.transform(session, processor, processor.encoder, timeMode(step), keys, gathered, tagged)
  }

  private def timeMode(step: PythonStep): TimeMode =
    if (step.clockTimers) TimeMode.ProcessingTime()
    else if (step.eventTimers) TimeMode.EventTime()
    else TimeMode.None()

  private def functionOf(mapped: Dataset[Row]): PythonUDF = OperatorPlan.planOf(mapped)
    .collectFirst { case m: MapInArrow => m.functionExpr.asInstanceOf[PythonUDF] }.get
}
