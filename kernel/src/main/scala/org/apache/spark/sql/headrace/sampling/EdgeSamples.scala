package org.apache.spark.sql.headrace.sampling

import java.util.{Collections, WeakHashMap}
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.{classic, DataFrame, SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.headrace.operators.OperatorPlan
import org.apache.spark.sql.types.StructType

/**
 * Samples of the rows at the edges of a streaming plan, on request. An alias marks the frame of an edge;
 * Spark's optimizer removes it, so that it costs nothing. While a sample is wanted, a rule of the analyzer,
 * which Spark runs for every micro-batch, adds a sampler at the mark.
 */
object EdgeSamples {
  private val wanted = new ConcurrentHashMap[String, RowSampler]
  private val prepared = Collections.newSetFromMap(new WeakHashMap[SparkSessionExtensions, java.lang.Boolean])

  /** Adds the rule to the queries that a session starts from now on. */
  def prepare(spark: SparkSession): Unit = synchronized {
    val extensions = spark.asInstanceOf[classic.SparkSession].extensions
    if (prepared.add(extensions)) extensions.injectPostHocResolutionRule(_ => AddSamplers)
  }

  /** Requests a sample of the rows at a mark, from the next micro-batch on. */
  def begin(spark: SparkSession, mark: String, rows: Int, length: Int): RowSampler = {
    val sampler = new RowSampler(rows, length)
    spark.asInstanceOf[classic.SparkSession].sparkContext.register(sampler)
    wanted.put(mark, sampler)
    sampler
  }

  def end(mark: String): Unit = wanted.remove(mark)

  /** Adds the sampler of a mark to a batch, if a sample is wanted. */
  def tap(frame: DataFrame, mark: String): DataFrame = Option(wanted.get(mark)).fold(frame) { sampler =>
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession]
    classic.Dataset.ofRows(session, addSampler(OperatorPlan.planOf(frame), sampler))
  }

  private def addSampler(plan: LogicalPlan, sampler: RowSampler): LogicalPlan = {
    val columns = plan.output.filterNot(_.name.startsWith("__"))
    val shape = columns.foldLeft(new StructType)((fields, column) => fields.add(column.name, column.dataType))
    Filter(SampleRow(sampler, shape, columns), plan)
  }

  private object AddSamplers extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan =
      if (wanted.isEmpty) plan
      else plan.resolveOperatorsUp {
        case alias @ SubqueryAlias(mark, child) if wanted.containsKey(mark.name) && !isSampled(child) =>
          Option(wanted.get(mark.name))
            .fold[LogicalPlan](alias)(sampler => alias.copy(child = addSampler(child, sampler)))
      }

    private def isSampled(plan: LogicalPlan): Boolean = plan match {
      case Filter(_: SampleRow, _) => true
      case _ => false
    }
  }
}
