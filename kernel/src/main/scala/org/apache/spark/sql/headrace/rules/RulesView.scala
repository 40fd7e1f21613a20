package org.apache.spark.sql.headrace.rules

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.headrace.operators.keyed.StepColumns
import org.apache.spark.sql.headrace.operators.inorder.{InOrderLogic, InOrderStep, InOrderReader, InOrderView}
import org.apache.spark.sql.headrace.patterns.{ConditionPart, ExplainedPattern, LinkedRows, MatchExplainer, PartialMatch, PartialMatches, PatternCompiler}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Encoders, Row}
import org.apache.spark.sql.catalyst.InternalRow

/** Decodes the state of a rules step: partial matches by rule, and buffered rows. */
final class RulesView(step: RulesStep) extends InOrderView(step) {
  /** Partial matches of the given rules, from the entries of the state variable `matches`. */
  def partials(entries: Dataset[Row], rules: String): Dataset[Row] = {
    step.load(rules)
    val (declared, shape) = (step, RulesView.partials(step))
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val reader = new RulesReader(declared)
      rows.filter(_.getLong(1) == 0)
        .flatMap(row => reader.partials(row.getStruct(0), row.getAs[Array[Byte]](2)))
    }(Encoders.row(shape))
  }
}

object RulesView {
  /** Creates a view for the rules in a query's plan; null if there are none. */
  def of(query: Dataset[Row]): RulesView = InOrderStep.of(query).collect { case step: RulesStep =>
    new RulesView(step)
  }.orNull
  private def row(step: RulesStep): StructType = StepColumns.struct(step.columns.visible)

  private def partials(step: RulesStep): StructType = new StructType().add("key", step.columns.keyType)
    .add("rule", StringType).add("version", IntegerType).add("start", TimestampType).add("end", TimestampType)
    .add("complete", BooleanType).add("matched", MapType(StringType, ArrayType(row(step))))
}

/** Decodes stored bytes. */
private final class RulesReader(step: RulesStep) extends InOrderReader(step) {
  private val matcher = step.matcher()

  def partials(key: Row, stored: Array[Byte]): Seq[Row] = InOrderLogic
    .readSlot(stored, step.fingerprint, matcher)._1.toSeq.flatMap { memory =>
      memory.partials.indices.filter(memory.partials(_) != null).flatMap { rule =>
        val (own, partials) = (step.rules.rules(rule), memory.partials(rule))
        val begun = partials.partial.asScala.filter(_.started).toSeq.distinctBy(_.last)
        begun.map(partial(key, own, _, complete = false)) ++
          partials.complete.asScala.map(partial(key, own, _, complete = true))
      }
    }

  private def partial(key: Row, rule: ActiveRule, matchOf: PartialMatch, complete: Boolean): Row = {
    val steps = rule.rule.spec.steps
    val matched = new LinkedRows(matchOf.last, steps.size)
    val arrays = steps.zipWithIndex.map { case (name, i) => name -> matched.rows(i).map(row) }.toMap
    Row(keyRow(key), rule.id, rule.version, time(matchOf.firstTime), time(matchOf.lastTime), complete, arrays)
  }
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
  override def concerns(row: InternalRow): Boolean = alone.rules.rules.head.since <= alone.arrivedIn(row) &&
    alone.matters(row)

  /** The key, `rule` and `version`. */
  override def omittedColumns: Int = super.omittedColumns + 2
}
