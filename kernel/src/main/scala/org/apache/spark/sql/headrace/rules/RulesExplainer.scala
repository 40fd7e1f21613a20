package org.apache.spark.sql.headrace.rules

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.inorder.InOrderProcessor
import org.apache.spark.sql.headrace.patterns.{ConditionPart, ExplainedPattern, MatchExplainer, PartialMatches, PatternCompiler}
import org.apache.spark.sql.{Dataset, Row}

/** SharedConditions why a rule of a table has (not) matched for one key. Rules don't know of each other, so each is asked alone. */
object RulesExplainer {
  /** Inquires after the one rule that is loaded, in a query's plan; null where that has no rules. */
  def of(query: Dataset[Row], rule: String): MatchExplainer =
    InOrderProcessor.stepOf(query).collect { case step: RulesStep => new MatchExplainer(new ExplainedRule(step.holding(rule))) }.orNull
}

private final class ExplainedRule(alone: RulesStep) extends ExplainedPattern(alone, alone.rules.rules.head.rule.spec) {
  private val start = new PatternCompiler(spec).automaton.start
  override val matcher: RulesMatcher = alone.matcher()

  override def parts: IndexedSeq[Seq[ConditionPart]] = alone.parts(spec)

  override def partials(memory: RulesState): PartialMatches = Option(memory.partials(0)).getOrElse(new PartialMatches(start))

  /** Rows are kept for all rules: others may want it, or it came before this one. */
  override def sees(row: InternalRow): Boolean = alone.rules.rules.head.since <= alone.came(row) && alone.matters(row)

  /** The key, and `rule` and `version`. */
  override def known: Int = super.known + 2
}
