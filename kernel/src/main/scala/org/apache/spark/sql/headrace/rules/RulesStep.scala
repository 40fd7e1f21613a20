package org.apache.spark.sql.headrace.rules

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.classic
import org.apache.spark.sql.headrace.operators.inorder.{InOrderStep, ReloadableStep, StepColumns}
import org.apache.spark.sql.headrace.patterns.{ConditionPart, PatternSpec}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Row}

/**
 * A step that looks for all rules of a table at once.
 *
 * On the driver `load` changes the rules in force. Spark writes the step anew into the tasks of each micro-batch, so a
 * change between two of them is in force from the second on, in all tasks of it and in no other.
 */
final class RulesStep(
    val columns: StepColumns, override val arrival: Boolean, override val clockTime: Boolean, val output: RulesOutput,
    @transient compiler: RuleCompiler)
    extends InOrderStep with ReloadableStep {
  @volatile private var set: RuleSet = RuleSet.none
  @transient private val known = mutable.HashMap.empty[String, Rule]

  override lazy val fingerprint: Int = Seq(StepColumns.struct(columns.visible).sql, columns.keyType.sql, arrival).toString.hashCode

  /** Analyses a rule, to know what is wrong with it; throws what Spark or the compiler say against it. */
  def check(spec: String): Unit = compiled(spec)

  /** From the next micro-batch on: `{"number": 3, "rules": [{"id", "version", "serial", "since", "pattern"}]}`. */
  override def load(text: String): Unit = {
    val tree = RulesStep.json.readTree(text)
    val rules = tree.get("rules").elements.asScala.map(inForce).toVector
    known.filterInPlace((_, rule) => rules.exists(_.rule eq rule))
    set = new RuleSet(tree.get("number").asLong, rules)
    asking = null
  }

  /** The same step with other rules, beside this one. */
  def holding(rules: String): RulesStep = {
    val other = new RulesStep(columns, arrival, clockTime, output, compiler)
    other.load(rules)
    other
  }

  def parts(spec: PatternSpec): IndexedSeq[Seq[ConditionPart]] = compiler.parts(spec)

  /** The rules in force. */
  def rules: RuleSet = set

  override def matcher(): RulesMatcher = new RulesMatcher(this, set)

  @transient private var asking: SharedConditions = _

  /** What is asked of a row, by whoever asks in this task. */
  def answers: SharedConditions = {
    if (asking == null) asking = new SharedConditions(set, columns.input)
    asking
  }

  override def matters(row: InternalRow): Boolean = set.rules.nonEmpty && (set.telling == null || {
    answers.ask(row)
    answers.any(set.telling)
  })

  override def sifts: Boolean = true

  private val place = columns.input.indexWhere(_.name == RulesStep.Came)

  /** A row knows the rules it came under: a rule sees no row that came before it, however long that has waited. */
  override def arriving(row: InternalRow): Unit = row.setLong(place, set.number)

  def came(row: InternalRow): Long = if (row.isNullAt(place)) Long.MaxValue else row.getLong(place)

  private def inForce(node: JsonNode): ActiveRule = ActiveRule(
    node.get("id").asText, node.get("version").asInt, node.get("serial").asInt, node.get("since").asLong,
    compiled(node.get("pattern").asText))

  private def compiled(text: String): Rule = known.getOrElseUpdate(text, compiler.compiled(PatternSpec.parse(text)))
}

object RulesStep {
  private val json = new ObjectMapper
  private val Came = "__came"

  /** A step over a frame, without rules yet: `{"keys", "order", "time", "counted", "measures": "at timestamp, amount double" | null}`. */
  def apply(frame: Dataset[Row], text: String): RulesStep = {
    val tree = json.readTree(text)
    val plan = frame.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed
    val visible = plan.output.filterNot(_.name.startsWith("__"))
    val names = tree.get("keys").elements.asScala.map(_.asText).toVector
    val keys = StructType(names.map(name => StructField(name, plan.output.find(_.name == name).get.dataType)))
    val measures = Option.when(tree.hasNonNull("measures"))(StructType.fromDDL(tree.get("measures").asText))
    val output = new RulesOutput(keys, visible, measures)
    val came = Alias(Literal(null, LongType), Came)()
    val counted = tree.path("counted").elements.asScala.map(_.asText).toSet
    val columns = new StepColumns(
      plan.output, Seq(came), names, Seq("main" -> output.main, "timeouts" -> output.timeouts), counted)
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession]
    new RulesStep(
      columns,
      arrival = tree.path("order").asText == "arrival",
      clockTime = tree.path("time").asText == "clock",
      output,
      new RuleCompiler(session, columns.input, visible, measures))
  }
}
