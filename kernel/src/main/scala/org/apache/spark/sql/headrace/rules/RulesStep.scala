package org.apache.spark.sql.headrace.rules

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.{Dataset, Row, classic}
import org.apache.spark.sql.headrace.operators.keyed.{ReloadableStep, StepColumns}
import org.apache.spark.sql.headrace.operators.{OperatorPlan, StepTime}
import org.apache.spark.sql.headrace.operators.inorder.InOrderStep
import org.apache.spark.sql.headrace.patterns.{ConditionPart, PatternSpec}
import org.apache.spark.sql.types._

/**
 * A step that matches all rules of a table. `load` replaces the rules on the driver. Spark serialises the
 * step into the tasks of each micro-batch, so a change applies to all tasks of the next one.
 */
final class RulesStep(val columns: StepColumns, override val arrival: Boolean,
    override val time: StepTime.Value, val output: RulesOutput, @transient compiler: RuleCompiler)
    extends InOrderStep with ReloadableStep {
  @volatile private var set: RuleSet = RuleSet.empty
  @transient private val known = mutable.HashMap.empty[String, Rule]

  override lazy val fingerprint: Int =
    Seq(StepColumns.struct(columns.visible).sql, columns.keyType.sql, arrival).toString.hashCode

  /** Analyses a rule; throws if it is invalid. */
  def check(spec: String): Unit = compile(spec)

  /**
   * Replaces the rules from the next micro-batch on: `{"number": 3, "rules": [{"id", "version", "serial",
   * "since", "pattern"}]}`.
   */
  override def load(text: String): Unit = {
    val tree = RulesStep.json.readTree(text)
    val rules = tree.get("rules").elements.asScala.map(inForce).toVector
    known.filterInPlace((_, rule) => rules.exists(_.rule eq rule))
    set = new RuleSet(tree.get("number").asLong, rules)
    conditionsOfTask = null
  }

  /** Returns a copy of this step with other rules. */
  def withRules(rules: String): RulesStep = {
    val other = new RulesStep(columns, arrival, time, output, compiler)
    other.load(rules)
    other
  }

  def parts(spec: PatternSpec): IndexedSeq[Seq[ConditionPart]] = compiler.parts(spec)
  def rules: RuleSet = set
  override def matcher(): RulesMatcher = new RulesMatcher(this, set)
  @transient private var conditionsOfTask: SharedConditions = _

  def sharedConditions: SharedConditions = {
    if (conditionsOfTask == null) conditionsOfTask = new SharedConditions(set, columns.input)
    conditionsOfTask
  }

  override def matters(row: InternalRow): Boolean = set.rules.nonEmpty &&
    (set.relevant == null || {
      sharedConditions.evaluate(row)
      sharedConditions.any(set.relevant)
    })

  override def sifts: Boolean = true
  private val place = columns.input.indexWhere(_.name == RulesStep.ArrivedIn)

  /** Stores the rule set's number in the row: a rule does not see rows that arrived before it. */
  override def arriving(row: InternalRow): Unit = row.setLong(place, set.number)
  def ruleSetAtArrival(row: InternalRow): Long =
    if (row.isNullAt(place)) Long.MaxValue else row.getLong(place)

  private def inForce(
      node: JsonNode): ActiveRule = ActiveRule(node.get("id").asText, node.get("version").asInt,
    node.get("serial").asInt, node.get("since").asLong, compile(node.get("pattern").asText))

  private def compile(text: String): Rule = known
    .getOrElseUpdate(text, compiler.compile(PatternSpec.parse(text)))
}

object RulesStep {
  private val json = new ObjectMapper
  private val ArrivedIn = "__arrived_in"

  /** Creates a step without rules from JSON: `keys`, `order`, `time`, `counted`, `measures` (DDL). */
  def apply(frame: Dataset[Row], text: String): RulesStep = {
    val tree = json.readTree(text)
    val plan = OperatorPlan.planOf(frame)
    val visible = plan.output.filterNot(_.name.startsWith("__"))
    val names = tree.get("keys").elements.asScala.map(_.asText).toVector
    val keys = StructType(names.map(name => StructField(name, plan.output.find(_.name == name).get.dataType)))
    val measures = Option.when(tree.hasNonNull("measures"))(StructType.fromDDL(tree.get("measures").asText))
    val output = new RulesOutput(keys, visible, measures)
    val arrivedIn = Alias(Literal(null, LongType), ArrivedIn)()
    val counted = tree.path("counted").elements.asScala.map(_.asText).toSet
    val columns = new StepColumns(
      plan.output, Seq(arrivedIn), names, Seq("main" -> output.main, "timeouts" -> output.timeouts), counted)
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession]
    new RulesStep(
      columns, arrival = tree.path("order").asText == "arrival",
      StepTime.of(tree.path("time").asText == "clock"), output,
      new RuleCompiler(session, columns.input, visible, measures))
  }
}
