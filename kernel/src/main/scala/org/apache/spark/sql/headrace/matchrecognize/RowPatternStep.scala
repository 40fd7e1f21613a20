package org.apache.spark.sql.headrace.matchrecognize

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
import org.apache.spark.sql.classic
import org.apache.spark.sql.headrace.operators.Aggregates
import org.apache.spark.sql.headrace.operators.inorder.{InOrderStep, StepColumns}
import org.apache.spark.sql.{Dataset, Row}

/**
 * A `MATCH_RECOGNIZE` as the kernel runs it.
 *
 * @param output the columns of what it gives
 * @param kept the columns of its input that it needs
 * @param ties the order of rows of equal time; none: as they came
 * @param fingerprint tells its state from that of another declaration
 */
final case class RowPatternStep(
    pattern: RowPattern, output: RowPatternOutput, columns: StepColumns, kept: Seq[Attribute], ties: Seq[SortOrder], clockTime: Boolean,
    fingerprint: Int) extends InOrderStep {
  override def arrival: Boolean = false
  override def matcher(): RowPatternMatcher = watched(NoListener)

  /** A matcher that one looks on at. */
  def watched(onlooker: ConditionListener): RowPatternMatcher = new RowPatternMatcher(
    pattern, output, UnsafeProjection.create(kept, columns.input),
    if (ties.isEmpty) None else Some(RowOrdering.create(ties, kept)), onlooker)
}

object RowPatternStep {
  private val json = new ObjectMapper

  /**
   * Reads a step from what Spark analysed. Of the frames only the plans are looked at.
   *
   * @param frame the input, with Headrace's own columns
   * @param extended the same, with the columns `__classifier` and `__match_number` behind it
   * @param rows the expressions on rows, selected from `extended`
   * @param aggregates the aggregates over rows, of `extended`; null if there are none
   * @param formulas the conditions and measures, selected from columns `__v0, __v1, ...`
   * @param declared the declaration, as JSON
   */
  def apply(
      frame: Dataset[Row], extended: Dataset[Row], rows: Dataset[Row], aggregates: Dataset[Row], formulas: Dataset[Row],
      declared: String): RowPatternStep = {
    val spec = json.readTree(declared)
    val variables = texts(spec.get("variables"))
    val asked = projected(rows)
    val overRows = if (aggregates == null) Nil else aggregated(aggregates)
    val input = kept(plan(extended).output, asked ++ overRows, spec)
    val onRows = asked.map(BindReferences.bindReference(_, AttributeSeq(input)))
    val values = spec.get("values").elements.asScala.map(value(_, variables, input, onRows, overRows)).toIndexedSeq
    val made = projected(formulas).map(formula(_, values))
    val conditions = variables.map { v =>
      val at = spec.get("conditions").get(v)
      if (at == null) null else made(at.asInt)
    }
    val pattern = RowPattern(
      Program.of(spec.get("pattern"), variables), variables, conditions,
      spec.get("measures").elements.asScala.map(m => made(m.get("formula").asInt)).toIndexedSeq,
      shown(spec.get("rows").asText), skip(spec, variables),
      Option(spec.get("within")).filterNot(_.isNull).map(_.asLong), overRows.size)
    def named(list: String): Seq[Attribute] = texts(spec.get(list)).flatMap(n => input.find(_.name == n))
    val measures = spec.get("measures").elements.asScala.map(_.get("name").asText).toSeq
    val output = new RowPatternOutput(pattern, input, named("keys"), named("order"), measures)
    val columns = new StepColumns(plan(frame).output, Nil, texts(spec.get("keys")), Seq("main" -> output.schema))
    val rowsKept = input.dropRight(2)
    val fingerprint = (spec.get("pattern").toString, variables, rowsKept.map(a => (a.name, a.dataType.sql))).hashCode
    RowPatternStep(
      pattern, output, columns, rowsKept, ties(spec, rowsKept), spec.get("time").asText == "clock", fingerprint)
  }

  private def ties(spec: JsonNode, kept: Seq[Attribute]): Seq[SortOrder] = spec.get("ties").elements.asScala.map { key =>
    SortOrder(
      kept.find(_.name == key.get("column").asText).get,
      if (key.get("descending").asBoolean) Descending else Ascending,
      if (key.get("nulls_last").asBoolean) NullsLast else NullsFirst, Nil)
  }.toSeq

  /** The columns of a row that are kept: those that are asked for or given out. */
  private def kept(extended: Seq[Attribute], asked: Seq[Expression], spec: JsonNode): Seq[Attribute] = {
    val all = spec.get("rows").asText != "one"
    val keys = texts(spec.get("keys")) ++ spec.get("ties").elements.asScala.map(_.get("column").asText)
    val used = AttributeSet.fromAttributeSets(asked.map(_.references))
    extended.dropRight(2).filter { a =>
      used.contains(a) || keys.contains(a.name) || (all && !a.name.startsWith("__"))
    } ++ extended.takeRight(2)
  }

  private def value(
      node: JsonNode, variables: IndexedSeq[String], input: Seq[Attribute],
      onRows: IndexedSeq[Expression], overRows: Seq[Expression]): FormulaValue = node.get("kind").asText match {
    case "number" => MatchNumber
    case "row" =>
      val expression = onRows(node.get("index").asInt)
      def asks(ordinal: Int): Boolean = expression.exists { case b: BoundReference => b.ordinal == ordinal; case _ => false }
      RowValue(expression, labels(node, variables), node.get("last").asBoolean, node.get("skip").asInt,
        node.get("final").asBoolean, node.get("shift").asInt, asks(input.size - 2), asks(input.size - 1))
    case _ =>
      val result = overRows(node.get("index").asInt)
      def asks(ordinal: Int): Boolean = result.references.exists(_.exprId == input(ordinal).exprId)
      AggregateValue(Aggregates.of(Seq(result), input, Nil), labels(node, variables), node.get("final").asBoolean,
        node.get("index").asInt, asks(input.size - 2), asks(input.size - 1))
  }

  /** A condition or measure, over only those values that it names. */
  private def formula(expression: Expression, values: IndexedSeq[FormulaValue]): Formula = {
    val named = expression.references.toSeq.filter(_.name.startsWith("__v"))
    Formula(named.map(a => values(a.name.drop(3).toInt)).toIndexedSeq, expression, named)
  }

  private def labels(node: JsonNode, variables: IndexedSeq[String]): VariableSet =
    VariableSet(texts(node.get("labels")).map(variables.indexOf(_)).toSet)

  private def shown(word: String): RowsPerMatch = word match {
    case "one" => OneRow
    case "show_empty" => AllRowsShowEmpty
    case "omit_empty" => AllRowsOmitEmpty
    case "with_unmatched" => AllRowsWithUnmatched
  }

  private def skip(spec: JsonNode, variables: IndexedSeq[String]): AfterMatchSkip = {
    val to = texts(spec.get("skip_to"))
    val of = VariableSet(to.map(variables.indexOf(_)).toSet)
    spec.get("skip").asText match {
      case "past_last" => SkipPastLastRow
      case "to_next" => SkipToNextRow
      case "to_first" => SkipToFirst(of, to.mkString(" or "))
      case "to_last" => SkipToLast(of, to.mkString(" or "))
    }
  }

  /** Expressions selected from columns; what Spark computes one of them with in a node of its own is refused. */
  private def projected(frame: Dataset[Row]): IndexedSeq[Expression] = plan(frame) match {
    case project @ Project(_, _: Project) =>
      simplified(project).asInstanceOf[Project].projectList.map(unnamed).toIndexedSeq
    case _ => throw new IllegalArgumentException(
      "expected expressions on rows, got one that needs a step of its own (an OVER clause, explode)")
  }

  private def aggregated(frame: Dataset[Row]): Seq[Expression] = simplified(plan(frame)) match {
    case a: Aggregate => a.aggregateExpressions.map(unnamed)
    case _ => throw new IllegalArgumentException("expected aggregates of rows, got one that needs a step of its own")
  }

  /** The top of a plan with its expressions made simpler, so that what is never needed is never computed. */
  private def simplified(plan: LogicalPlan): LogicalPlan = {
    val rules = Seq(ReplaceExpressions, ConstantFolding, BooleanSimplification, SimplifyConditionals)
    val top = plan.withNewChildren(plan.children.map(child => KnownColumns(child.output)))
    val simple = rules.foldLeft(rules.foldLeft(top: LogicalPlan)((p, rule) => rule(p)))((p, rule) => rule(p))
    simple.transformExpressionsUp { case With(child, definitions) =>
      child.transform { case ref: CommonExpressionRef => definitions.find(_.id == ref.id).get.child }
    }
  }

  private def unnamed(e: Expression): Expression = e match {
    case a: Alias => a.child
    case other => other
  }

  private def plan(frame: Dataset[Row]): LogicalPlan =
    frame.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed

  private def texts(list: JsonNode): IndexedSeq[String] = list.elements.asScala.map(_.asText).toIndexedSeq
}

/** StepColumns that come from somewhere: rules that look at where would do more than is asked of them. */
private final case class KnownColumns(override val output: Seq[Attribute]) extends org.apache.spark.sql.catalyst.plans.logical.LeafNode
