package org.apache.spark.sql.headrace.rules

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.inorder.{InOrderStep, InOrderView}
import org.apache.spark.sql.headrace.patterns._
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Row}

/** Decodes the state of a rules step: partial matches by rule, and buffered rows. */
final class RulesView(step: RulesStep) extends InOrderView(step) {
  @transient override protected lazy val matcher: RulesMatcher = step.matcher()

  def partials(entries: Dataset[Row], rules: String): Dataset[Row] = {
    step.load(rules)
    val shape = new StructType().add("key", keyType).add("rule", StringType).add("version", IntegerType)
      .add("start", TimestampType).add("end", TimestampType).add("complete", BooleanType)
      .add("matched", MapType(StringType, ArrayType(rowType)))
    decodeMemory(entries, shape) { (key, memory) =>
      step.rules.rules.zip(memory.partials).filter(_._2 != null).flatMap { case (rule, partials) =>
        MatchView.matches(partials).map { case (partial, complete) =>
          val steps = rule.rule.spec.steps
          val matched = new LinkedRows(partial.last, steps.size)
          val arrays = steps.zipWithIndex.map { case (name, i) => name -> matched.rows(i).map(toRow) }.toMap
          Row(key, rule.id, rule.version, time(partial.firstTime), time(partial.lastTime), complete, arrays)
        }
      }
    }
  }
}

object RulesView {
  /** Creates a view for the rules in a query's plan; null if there are none. */
  def of(query: Dataset[Row]): RulesView = InOrderStep.of(query).collect { case step: RulesStep =>
    new RulesView(step)
  }.orNull
}

/** Explains why a rule has or has not matched for one key; rules are independent. */
object RulesExplainer {
  /** Creates an explainer for one rule in a query's plan; null if the plan has no rules. */
  def of(query: Dataset[Row], rule: String): MatchExplainer = InOrderStep.of(query)
    .collect { case step: RulesStep => new MatchExplainer(new ExplainedRule(step.withRules(rule))) }.orNull
}

private final class ExplainedRule(alone: RulesStep)
    extends ExplainedPattern(alone, alone.rules.rules.head.rule.spec) {
  private val start = new PatternCompiler(spec).automaton.start
  override val matcher: RulesMatcher = alone.matcher()
  override def parts: IndexedSeq[Seq[ConditionPart]] = alone.parts(spec)
  override def partials(memory: RulesState): PartialMatches = Option(memory.partials(0))
    .getOrElse(new PartialMatches(start))

  /** Rows are stored for all rules; this one may not be concerned, or newer than the row. */
  override def concerns(row: InternalRow): Boolean =
    alone.rules.rules.head.since <= alone.ruleSetAtArrival(row) && alone.matters(row)

  /** The key, `rule` and `version`. */
  override def omittedColumns: Int = super.omittedColumns + 2
}
