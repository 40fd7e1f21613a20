package org.apache.spark.sql.headrace.operators.inorder

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, KeyedOperator, KeyedStep}
import org.apache.spark.sql.headrace.operators.{Counts, PlannedNode}

/** A step that processes the rows of each key in order: a pattern, a rule set or MATCH_RECOGNIZE. */
trait InOrderStep extends KeyedStep {
  /** True to process rows in arrival order instead of event-time order. */
  def arrival: Boolean

  /** Identifies the declaration that state belongs to. */
  def fingerprint: Int

  /** False if a row cannot affect the result; such a row is neither buffered nor passed on. */
  def matters(row: InternalRow): Boolean = true

  /** Boolean columns, one of which is true for every row that matters; empty if there are none. */
  def conditions: Seq[Attribute] = Nil

  /** True if `matters` can filter rows before the shuffle although `conditions` is empty. */
  def sifts: Boolean = false

  /** Called for each arriving row, which may be buffered; stores in it what depends on this moment. */
  def arriving(row: InternalRow): Unit = ()

  def matcher(): Matcher

  override def variable: String = "matches"

  override def logic(counts: Counts): KeyedLogic = new InOrderLogic(this, counts)

  override def beforeShuffle(session: SparkSession, input: LogicalPlan, counts: Counts): LogicalPlan =
    if (conditions.isEmpty && !sifts) input
    else PlannedNode.add(session, PreShuffleFilter(this, conditions, columns.ts, counts, input))
}

object InOrderStep {
  /** Finds the in-order step in a query's plan. */
  def of(query: Dataset[Row]): Option[InOrderStep] = KeyedOperator.stepOf(query)
    .collect { case step: InOrderStep => step }
}
