package org.apache.spark.sql.headrace.time

import java.util.UUID

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{SparkSession, classic}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan}
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.classic.Strategy
import org.apache.spark.sql.execution.streaming.operators.stateful.EventTimeWatermarkExec
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan}
import org.apache.spark.sql.headrace.operators.OperatorPlan
import org.apache.spark.sql.types.TimestampType
import org.apache.spark.unsafe.types.CalendarInterval

/** Spark's watermark operator with whole-stage code generation. */
object CodegenWatermark {
  /** Registers the strategy. Called from Python. */
  def enable(session: SparkSession): Unit = OperatorPlan
    .addStrategy(session.asInstanceOf[classic.SparkSession], Planned)

  object Planned extends Strategy {
    override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
      // Real-time mode accepts no custom operators.
      case EventTimeWatermark(id, time, delay, child)
          if time.dataType == TimestampType && !OperatorPlan.isRealTime(child) =>
        new CodegenWatermarkExec(id, time, delay, planLater(child)) :: Nil
      case _ => Nil
    }
  }
}

/** A subclass, because Spark finds event-time statistics by node class. */
class CodegenWatermarkExec(nodeId: UUID, eventTime: Attribute, delay: CalendarInterval, child: SparkPlan)
    extends EventTimeWatermarkExec(nodeId, eventTime, delay, child) with CodegenSupport {
  override def usedInputs: AttributeSet = AttributeSet(eventTime)
  override def inputRDDs(): Seq[RDD[InternalRow]] = child.asInstanceOf[CodegenSupport].inputRDDs()
  override protected def withNewChildInternal(next: SparkPlan): CodegenWatermarkExec =
    new CodegenWatermarkExec(nodeId, eventTime, delay, next)
  override protected def doProduce(context: CodegenContext): String = child.asInstanceOf[CodegenSupport]
    .produce(context, this)

  /** Like Spark, counts a row without time as 1970. */
  override def doConsume(context: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    val stats = context.addReferenceObj("eventTimes", eventTimeStats)
    val time = input(child.output.indexWhere(_.exprId == eventTime.exprId))
    val millis = s"${DateTimeUtils.getClass.getName}.MODULE$$.microsToMillis(${time.value})"
    s"""
       |$stats.add(${time.isNull} ? 0L : $millis);
       |${consume(context, input)}
     """.stripMargin
  }
}
