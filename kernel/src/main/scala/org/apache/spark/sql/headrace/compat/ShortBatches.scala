package org.apache.spark.sql.headrace.compat

import java.util.{Collections, WeakHashMap}

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.read.streaming.SparkDataStream
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution

/**
 * The first batches of a run in real time are short.
 *
 * At the end of a batch rows wait until it is committed and the next one is planned and begun: code that a JVM runs once in a
 * minute and therefore never makes fast. A number of short batches at the start, in which rows have to wait for the JVM
 * anyway, does what would otherwise take an hour.
 *
 * @param batches how many of them
 * @param millis how long each reads
 */
final case class ShortBatches(batches: Int, millis: Long) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
    case scan: StreamingDataSourceV2ScanRelation if scan.startOffset.isDefined && isShort(scan) =>
      scan.copy(relation = scan.relation.copy(realTimeModeDuration = Some(millis)))
  }

  private def isShort(scan: StreamingDataSourceV2ScanRelation): Boolean =
    scan.relation.realTimeModeDuration.exists(_ > millis) && ShortBatches.number(scan.stream).exists(_ < batches)
}

object ShortBatches {
  /** The batch that each stream of this process began with. */
  private val first = Collections.synchronizedMap(new WeakHashMap[SparkDataStream, java.lang.Long])

  /** Has a session begin its queries in real time with short batches. */
  def begin(session: SparkSession, batches: Int, millis: Long): Unit = {
    val others = session.experimental.extraOptimizations.filterNot(_.isInstanceOf[ShortBatches])
    session.experimental.extraOptimizations = others :+ ShortBatches(batches, millis)
  }

  /** How many batches a stream has had before the one that is being planned. */
  private def number(stream: SparkDataStream): Option[Long] =
    SparkSession.getActiveSession.flatMap { session =>
      Option(session.sparkContext.getLocalProperty(MicroBatchExecution.BATCH_ID_KEY)).map { batch =>
        batch.toLong - first.computeIfAbsent(stream, _ => batch.toLong)
      }
    }
}
