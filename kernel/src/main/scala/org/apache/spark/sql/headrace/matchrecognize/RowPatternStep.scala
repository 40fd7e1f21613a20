package org.apache.spark.sql.headrace.matchrecognize

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
import org.apache.spark.sql.headrace.operators.keyed.StepColumns
import org.apache.spark.sql.headrace.operators.{Aggregates, OperatorPlan, StepTime}
import org.apache.spark.sql.headrace.operators.inorder.InOrderStep
import org.apache.spark.sql.{Dataset, Row}

/**
 * A MATCH_RECOGNIZE step.
 *
 * @param output the output columns
 * @param stored the required input columns
 * @param ties the order of rows of equal time; default: arrival order
 * @param fingerprint identifies the declaration that state belongs to
 */
final case class RowPatternStep(pattern: RowPattern, output: RowPatternOutput, columns: StepColumns,
    stored: Seq[Attribute], ties: Seq[SortOrder], time: StepTime.Value, fingerprint: Int)
    extends InOrderStep {
  override def arrival: Boolean = false
  override def matcher(): RowPatternMatcher = matcherWith((_, _, _) => ())

  /** Creates a matcher that reports its condition tests. */
  def matcherWith(onTest: PatternSearcher.TestListener): RowPatternMatcher =
    new RowPatternMatcher(pattern, output, UnsafeProjection.create(stored, columns.input),
      if (ties.isEmpty) None else Some(RowOrdering.create(ties, stored)), onTest)
}

object RowPatternStep {
  private val json = new ObjectMapper

  /**
   * Creates a step from analysed plans.
   *
   * @param frame the input, with internal columns
   * @param extended `frame` with the columns `__classifier` and `__match_number` appended
   * @param rows the expressions on rows, selected from `extended`
   * @param aggregates the aggregates over rows of `extended`; null if there are none
   * @param formulas the conditions and measures, selected from columns `__v0, __v1, ...`
   * @param declared the declaration as JSON
   */
  def apply(frame: Dataset[Row], extended: Dataset[Row], rows: Dataset[Row], aggregates: Dataset[Row],
      formulas: Dataset[Row], declared: String): RowPatternStep = {
    val spec = json.readTree(declared)
    val variables = texts(spec.get("variables"))
    val onRow = projectionOf(rows)
    val overRows = if (aggregates == null) Nil else aggregatesOf(aggregates)
    val input = selectStored(plan(extended).output, onRow ++ overRows, spec)
    val onRows = onRow.map(BindReferences.bindReference(_, AttributeSeq(input)))
    val values = spec.get("values").elements.asScala.map(value(_, variables, input, onRows, overRows))
      .toIndexedSeq
    val builtFormulas = projectionOf(formulas).map(formula(_, values))
    val conditions = variables.map { v =>
      val at = spec.get("conditions").get(v)
      if (at == null) null else builtFormulas(at.asInt)
    }
    val pattern = RowPattern(
      Program.of(spec.get("pattern"), variables), variables, conditions,
      spec.get("measures").elements.asScala.map(m => builtFormulas(m.get("formula").asInt)).toIndexedSeq,
      parseRows(spec.get("rows").asText), skip(spec, variables),
      Option(spec.get("within")).filterNot(_.isNull).map(_.asLong), overRows.size)
    def columnsOf(list: String): Seq[Attribute] = texts(spec.get(list)).flatMap(n => input.find(_.name == n))
    val measures = spec.get("measures").elements.asScala.map(_.get("name").asText).toSeq
    val output = new RowPatternOutput(pattern, input, columnsOf("keys"), columnsOf("order"), measures)
    val columns =
      new StepColumns(plan(frame).output, Nil, texts(spec.get("keys")), Seq("main" -> output.schema))
    val rowColumns = input.dropRight(2)
    val fingerprint =
      (spec.get("pattern").toString, variables, rowColumns.map(a => (a.name, a.dataType.sql))).hashCode
    RowPatternStep(pattern, output, columns, rowColumns, ties(spec, rowColumns),
      StepTime.of(spec.get("time").asText == "clock"), fingerprint)
  }

  private def ties(spec: JsonNode, stored: Seq[Attribute]): Seq[SortOrder] = spec.get("ties").elements.asScala
    .map { key =>
      SortOrder(
        stored.find(_.name == key.get("column").asText).get,
        if (key.get("descending").asBoolean) Descending else Ascending,
        if (key.get("nulls_last").asBoolean) NullsLast else NullsFirst, Nil)
    }.toSeq

  /** Columns of stored rows: those that are referenced or emitted. */
  private def selectStored(
      extended: Seq[Attribute], onRow: Seq[Expression], spec: JsonNode): Seq[Attribute] = {
    val all = spec.get("rows").asText != "one"
    val keys = texts(spec.get("keys")) ++ spec.get("ties").elements.asScala.map(_.get("column").asText)
    val used = AttributeSet.fromAttributeSets(onRow.map(_.references))
    extended.dropRight(2).filter { a =>
      used.contains(a) || keys.contains(a.name) || (all && !a.name.startsWith("__"))
    } ++ extended.takeRight(2)
  }

  private def value(node: JsonNode, variables: IndexedSeq[String], input: Seq[Attribute],
      onRows: IndexedSeq[Expression], overRows: Seq[Expression]): FormulaValue =
    node.get("kind").asText match {
      case "number" => MatchNumber
      case "row" =>
        val expression = onRows(node.get("index").asInt)
        def references(ordinal: Int): Boolean = expression
          .exists { case b: BoundReference => b.ordinal == ordinal; case _ => false }
        RowValue(
          expression, labels(node, variables), node.get("last").asBoolean, node.get("skip").asInt,
          node.get("final").asBoolean, node.get("shift").asInt, references(input.size - 2),
          references(input.size - 1))
      case _ =>
        val result = overRows(node.get("index").asInt)
        def references(ordinal: Int): Boolean = result.references.exists(_.exprId == input(ordinal).exprId)
        AggregateValue(
          Aggregates.of(Seq(result), input, Nil), labels(node, variables), node.get("final").asBoolean,
          node.get("index").asInt, references(input.size - 2), references(input.size - 1))
    }

  /** A condition or measure, over only the values it references. */
  private def formula(expression: Expression, values: IndexedSeq[FormulaValue]): Formula = {
    val columnsOf = expression.references.toSeq.filter(_.name.startsWith("__v"))
    Formula(columnsOf.map(a => values(a.name.drop(3).toInt)).toIndexedSeq, expression, columnsOf)
  }

  private def labels(node: JsonNode, variables: IndexedSeq[String]): VariableSet =
    VariableSet(texts(node.get("labels")).map(variables.indexOf(_)).toSet)

  private def parseRows(word: String): RowsPerMatch = word match {
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

  /** Expressions of a projection; rejects those that Spark computes in a node of their own. */
  private def projectionOf(frame: Dataset[Row]): IndexedSeq[Expression] = plan(frame) match {
    case project @ Project(_, _: Project) => simplify(project).asInstanceOf[Project].projectList
        .map(withoutAlias).toIndexedSeq
    case _ => throw new IllegalArgumentException(
        "expected expressions on rows, got one that needs a step of its own (an OVER clause, explode)")
  }

  private def aggregatesOf(frame: Dataset[Row]): Seq[Expression] = simplify(plan(frame)) match {
    case a: Aggregate => a.aggregateExpressions.map(withoutAlias)
    case _ =>
      throw new IllegalArgumentException("expected aggregates of rows, got one that needs a step of its own")
  }

  /** Simplifies the expressions of a plan's top node, so that unneeded values are not computed. */
  private def simplify(plan: LogicalPlan): LogicalPlan = {
    val rules = Seq(ReplaceExpressions, ConstantFolding, BooleanSimplification, SimplifyConditionals)
    val top = plan.withNewChildren(plan.children.map(child => KnownColumns(child.output)))
    val simple = rules.foldLeft(rules.foldLeft(top: LogicalPlan)((p, rule) => rule(p)))((p, rule) => rule(p))
    simple.mapExpressions(OperatorPlan.inlineCommonExpressions)
  }

  private def withoutAlias(e: Expression): Expression = e match {
    case a: Alias => a.child
    case other => other
  }

  private def plan(frame: Dataset[Row]): LogicalPlan = OperatorPlan.planOf(frame)
  private def texts(list: JsonNode): IndexedSeq[String] = list.elements.asScala.map(_.asText).toIndexedSeq
}

/** A leaf with known columns, which hides the child plan from optimiser rules. */
private final case class KnownColumns(override val output: Seq[Attribute])
    extends org.apache.spark.sql.catalyst.plans.logical.LeafNode
