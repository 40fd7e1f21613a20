package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, UnresolvedAttribute, UnresolvedFunction, UnresolvedStar}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, First, Last}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.operators.{Aggregates, OperatorPlan}
import org.apache.spark.sql.types._
import org.apache.spark.sql.catalyst.InternalRow

/**
 * Resolves expressions over matched rows: `small.amount` (the last row), `first(small.amount)`,
 * `last(rise.price, 1)` (the one before the last), `count(rise)`, any aggregate such as `sum(rise.price)`,
 * and a bare step as the array of its rows. Spark parses the text, references become columns, and Spark's
 * analyser resolves the rest.
 *
 * @param steps the step names
 * @param columns the columns of a stored row
 */
final class StepReferences(session: SparkSession, steps: IndexedSeq[String], columns: Seq[Attribute])
    extends PredicateHelper {
  private val row = StructType(columns.map(a => StructField(a.name, a.dataType, a.nullable)))
  private val storedRelation = LocalRelation(columns)

  /** True if an expression references matched rows. */
  def navigates(text: String): Boolean = parse(text).exists(reference(_).isDefined)

  /** Predicate on the columns that the texts name; None if they reference whole rows. */
  def columnsOf(texts: Seq[String]): Option[String => Boolean] = {
    val all = texts.map(parse)
    val names = all.flatMap(_.collect { case a: UnresolvedAttribute => a.nameParts })
    val whole = all.exists(_.exists(_.isInstanceOf[UnresolvedStar])) ||
      names.exists(n => n.size == 1 && stepIndex(n.head).isDefined)
    // In `login.ts` either part may be a column name; keep both.
    Option.unless(whole)(column => names.exists(_.exists(_.equalsIgnoreCase(column))))
  }

  /** The conjuncts of a condition that reference only the row under test; None if there are none. */
  def plainPart(text: String, child: LogicalPlan): Option[Expression] = {
    val parts = splitConjunctivePredicates(parse(text)).filterNot(_.exists(reference(_).isDefined))
    parts.reduceOption(And(_, _)).map(part => single(Project(Seq(Alias(part, "plain")()), child)))
  }

  /** Resolves a condition on a row with the columns `over`. */
  def condition(text: String, over: Seq[Attribute]): NavigationExpression = {
    val read = resolve(parse(text), over, bare = false)
    read.copy(
      expression = if (read.dataType == BooleanType) read.expression else Cast(read.expression, BooleanType))
  }

  /** Resolves a measure; a column without a step refers to the last row. */
  def measure(text: String): NavigationExpression = resolve(parse(text), Nil, bare = true)

  /** Splits a condition into conjuncts with their referenced values. */
  def parts(text: String, over: Seq[Attribute]): Seq[ConditionPart] = splitConjunctivePredicates(parse(text))
    .map { part =>
      val read = resolve(part, over, bare = false)
      val condition =
        if (read.dataType == BooleanType) read else read.copy(expression = Cast(read.expression, BooleanType))
      val values = findReferences(part, part).distinctBy(sourceText(_, text))
        .map(e => sourceText(e, text) -> resolve(e, over, bare = false))
      ConditionPart(sourceText(part, text), condition, values)
    }

  /** Columns and matched values that an expression references. */
  private def findReferences(e: Expression, whole: Expression): Seq[Expression] = e match {
    case _ if reference(e).isDefined => Seq(e)
    case a: UnresolvedAttribute => if (lambda(whole, a) || a.nameParts.head.startsWith("__")) Nil else Seq(a)
    case _ => e.children.flatMap(findReferences(_, whole))
  }

  private def sourceText(e: Expression, text: String): String =
    (for (from <- e.origin.startIndex; to <- e.origin.stopIndex if to < text.length) yield text
      .substring(from, to + 1)).getOrElse(e.sql)

  private def parse(text: String): Expression = session.sessionState.sqlParser.parseExpression(text)

  private def resolve(text: Expression, over: Seq[Attribute], bare: Boolean): NavigationExpression = {
    val values = mutable.ArrayBuffer.empty[(Attribute, Navigation)]
    def value(navigation: Navigation): Expression = {
      val added = AttributeReference(s"__matched${values.size}", navigation.dataType)()
      values += added -> navigation
      UnresolvedAttribute.quoted(added.name)
    }
    val replaced = text.transformDown {
      case e if reference(e).isDefined => value(reference(e).get())
      case a: UnresolvedAttribute if bare && !lambda(text, a) && !a.nameParts.head.startsWith("__matched") =>
        value(LastRowValue(resolveColumn(a), columns))
    }
    val plan = Project(Seq(Alias(replaced, "navigated")()), LocalRelation(over ++ values.map(_._1)))
    NavigationExpression(single(plan), over, values.toSeq)
  }

  /** True if a name is a lambda argument, such as `r` in `transform(rise, r -> r.price)`. */
  private def lambda(text: Expression, name: UnresolvedAttribute): Boolean = text.exists {
    case f: LambdaFunction => f.arguments.exists(_.name.equalsIgnoreCase(name.nameParts.head))
    case _ => false
  }

  /** Resolves a reference to a step, if the expression is one. */
  private def reference(expression: Expression): Option[() => Navigation] = expression match {
    case a: UnresolvedAttribute if step(a).isDefined => Some(() => attribute(a))
    case AggregateExpression(First(of, _), _, _, _, _) if refers(of) =>
      Some(() => nth(of, fromLast = false, 0))
    case AggregateExpression(Last(of, _), _, _, _, _) if refers(of) => Some(() => nth(of, fromLast = true, 0))
    case f: UnresolvedFunction if aggregate(f) && f.arguments.exists(refers) => Some(() => function(f))
    case _ => None
  }

  private def attribute(a: UnresolvedAttribute): Navigation =
    if (a.nameParts.size == 1) StepRows(step(a).get, row) else nth(a, fromLast = true, 0)

  private def function(f: UnresolvedFunction): Navigation = (name(f), f.arguments) match {
    case ("first" | "first_value", of +: offset) => nth(of, fromLast = false, number(offset))
    case ("last" | "last_value", of +: offset) => nth(of, fromLast = true, number(offset))
    case ("count", Seq(a: UnresolvedAttribute)) if a.nameParts.size == 1 && !f.isDistinct =>
      StepRowCount(step(a).get)
    case ("count", Seq(UnresolvedStar(Some(Seq(named))))) => StepRowCount(stepIndex(named).get)
    case _ =>
      val (step, own) = withoutStep(f)
      val plan = analyse(Aggregate(Nil, Seq(Alias(own, "folded")()), storedRelation))
      val results = ReplaceExpressions(plan).asInstanceOf[Aggregate].aggregateExpressions
        .map { case a: Alias => a.child }
      StepAggregate(step, Aggregates.of(results, columns, Nil))
  }

  private def nth(of: Expression, fromLast: Boolean, offset: Int): Navigation = {
    val (step, own) = withoutStep(of)
    NthRowValue(step, resolveColumn(own), columns, fromLast, offset)
  }

  private def number(offset: Seq[Expression]): Int = offset match {
    case Nil => 0
    case Seq(Literal(n: Int, IntegerType)) if n >= 0 => n
    case other => throw new IllegalArgumentException(
        s"expected a number of rows, got ${other.map(_.sql).mkString(", ")}; " +
          "write last(rise.price, 1) for the one before the last")
  }

  /** The single step that an expression references, and the expression over its row. */
  private def withoutStep(of: Expression): (Int, Expression) = {
    val own = of.transform {
      case a: UnresolvedAttribute if step(a).isDefined && a.nameParts.size > 1 =>
        UnresolvedAttribute(a.nameParts.tail)
    }
    val names = of.collect { case a: UnresolvedAttribute => a }
    names.map(step).distinct match {
      case Seq(Some(step)) if names.forall(_.nameParts.size > 1) => (step, own)
      case _ => throw new IllegalArgumentException(
          s"expected columns of one step in ${of.sql}, such as ${steps.head}.${columns.head.name}")
    }
  }

  private def refers(e: Expression): Boolean = e.exists {
    case a: UnresolvedAttribute => step(a).isDefined
    case UnresolvedStar(Some(Seq(named))) => stepIndex(named).isDefined
    case _ => false
  }

  private def step(a: UnresolvedAttribute): Option[Int] = stepIndex(a.nameParts.head)
  private def stepIndex(name: String): Option[Int] = Some(steps.indexWhere(_.equalsIgnoreCase(name)))
    .filter(_ >= 0)
  private def name(f: UnresolvedFunction): String = f.nameParts.last.toLowerCase(java.util.Locale.ROOT)
  private def aggregate(f: UnresolvedFunction): Boolean = FunctionRegistry.builtin
    .lookupFunction(org.apache.spark.sql.catalyst.FunctionIdentifier(name(f)))
    .exists(_.getGroup == "agg_funcs")

  private def resolveColumn(e: Expression): Expression =
    single(Project(Seq(Alias(e, "value")()), storedRelation))

  private def single(plan: Project): Expression = ReplaceExpressions(analyse(plan)) match {
    case Project(Seq(Alias(values, _)), child)
        if child.output.map(_.exprId) == plan.child.output.map(_.exprId) =>
      OperatorPlan.inlineCommonExpressions(values)
    case _ => throw new IllegalArgumentException(s"expected an expression over single rows, got " +
        plan.projectList.head.asInstanceOf[Alias].child.sql)
  }

  private def analyse(plan: LogicalPlan): LogicalPlan = {
    val execution = session.sessionState.executePlan(plan)
    execution.assertAnalyzed()
    execution.analyzed
  }
}

/**
 * One conjunct of a condition, as written.
 *
 * @param values the columns and matched values it references, by their text
 */
final case class ConditionPart(text: String, condition: NavigationExpression,
    values: Seq[(String, NavigationExpression)]) {
  val shape: StructType = StructType(values.map { case (name, of) => StructField(name, of.dataType) })
  def holds(row: InternalRow, matched: MatchedRows): Boolean = condition.holds(row, matched)

  /** Referenced values for a row, as described by `shape`. */
  def valuesOf(row: InternalRow, matched: MatchedRows): InternalRow =
    new GenericInternalRow(values.map(_._2.eval(row, matched)).toArray[Any])
}
