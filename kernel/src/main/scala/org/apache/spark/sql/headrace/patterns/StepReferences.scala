package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, UnresolvedAttribute, UnresolvedFunction, UnresolvedStar}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, First, Last}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.operators.Aggregates
import org.apache.spark.sql.types._

/**
 * Reads expressions that speak of rows matched so far: `small.amount` (the last one), `first(small.amount)`,
 * `last(rise.price, 1)` (one before the last), `count(rise)`, any aggregate such as `sum(rise.price)`, and a bare step as
 * the array of its rows. Spark's parser reads the text, such references become columns of their own, and Spark's
 * analyser does the rest, so everything else means what it means in Spark.
 *
 * @param steps the names that rows can be matched to
 * @param columns the columns of a row as it is kept
 */
final class StepReferences(session: SparkSession, steps: IndexedSeq[String], columns: Seq[Attribute]) {
  private val row = StructType(columns.map(a => StructField(a.name, a.dataType, a.nullable)))
  private val kept = LocalRelation(columns)

  /** Whether a text speaks of rows matched so far. */
  def navigates(text: String): Boolean = parsed(text).exists(of(_).isDefined)

  /** Whether a column is named by one of these texts; none where they speak of whole rows. */
  def columnsOf(texts: Seq[String]): Option[String => Boolean] = {
    val all = texts.map(parsed)
    val names = all.flatMap(_.collect { case a: UnresolvedAttribute => a.nameParts })
    val whole = all.exists(_.exists(_.isInstanceOf[UnresolvedStar])) || names.exists(n => n.size == 1 && numbered(n.head).isDefined)
    // Of `login.ts` the name may be either part: a column is kept rather than missed.
    Option.unless(whole)(column => names.exists(_.exists(_.equalsIgnoreCase(column))))
  }

  /** The part of a condition that looks at the row alone: what must hold whatever was matched; none for any row. */
  def plainPart(text: String, child: LogicalPlan): Option[Expression] = {
    val parts = conjuncts(parsed(text)).filterNot(_.exists(of(_).isDefined))
    parts.reduceOption(And(_, _)).map(part => single(Project(Seq(Alias(part, "plain")()), child)))
  }

  /** A condition on a row under test, whose columns are `over`. */
  def condition(text: String, over: Seq[Attribute]): NavigationExpression = {
    val read = navigated(parsed(text), over, bare = false)
    read.copy(expression = if (read.dataType == BooleanType) read.expression else Cast(read.expression, BooleanType))
  }

  /** A measure of a whole match; a column without a step is the last row's. */
  def measure(text: String): NavigationExpression = navigated(parsed(text), Nil, bare = true)

  /** A condition taken apart, for people who ask which part of it failed. */
  def parts(text: String, over: Seq[Attribute]): Seq[ConditionPart] = conjuncts(parsed(text)).map { part =>
    val read = navigated(part, over, bare = false)
    val condition = if (read.dataType == BooleanType) read else read.copy(expression = Cast(read.expression, BooleanType))
    val values = lookedAt(part, part).distinctBy(written(_, text)).map(e => written(e, text) -> navigated(e, over, bare = false))
    ConditionPart(written(part, text), condition, values)
  }

  /** The columns and the values from rows matched so far that an expression looks at. */
  private def lookedAt(e: Expression, whole: Expression): Seq[Expression] = e match {
    case _ if of(e).isDefined => Seq(e)
    case a: UnresolvedAttribute => if (lambda(whole, a) || a.nameParts.head.startsWith("__")) Nil else Seq(a)
    case _ => e.children.flatMap(lookedAt(_, whole))
  }

  /** An expression as it stands in the text. */
  private def written(e: Expression, text: String): String =
    (for (from <- e.origin.startIndex; to <- e.origin.stopIndex if to < text.length) yield text.substring(from, to + 1))
      .getOrElse(e.sql)

  private def conjuncts(of: Expression): Seq[Expression] = of match {
    case And(left, right) => conjuncts(left) ++ conjuncts(right)
    case other => Seq(other)
  }

  private def parsed(text: String): Expression = session.sessionState.sqlParser.parseExpression(text)

  private def navigated(text: Expression, over: Seq[Attribute], bare: Boolean): NavigationExpression = {
    val found = mutable.ArrayBuffer.empty[(Attribute, Navigation)]
    def value(navigation: Navigation): Expression = {
      val made = AttributeReference(s"__matched${found.size}", navigation.dataType)()
      found += made -> navigation
      UnresolvedAttribute.quoted(made.name)
    }
    val replaced = text.transformDown {
      case e if of(e).isDefined => value(of(e).get())
      case a: UnresolvedAttribute if bare && !lambda(text, a) && !a.nameParts.head.startsWith("__matched") =>
        value(LastRowValue(resolved(a), columns))
    }
    val plan = Project(Seq(Alias(replaced, "navigated")()), LocalRelation(over ++ found.map(_._1)))
    NavigationExpression(single(plan), over, found.toSeq)
  }

  /** Whether a name is an argument of a lambda, such as `r` in `transform(rise, r -> r.price)`. */
  private def lambda(text: Expression, name: UnresolvedAttribute): Boolean = text.exists {
    case f: LambdaFunction => f.arguments.exists(_.name.equalsIgnoreCase(name.nameParts.head))
    case _ => false
  }

  /** How to take the value that an expression refers to, if it refers to a step. */
  private def of(expression: Expression): Option[() => Navigation] = expression match {
    case a: UnresolvedAttribute if step(a).isDefined => Some(() => attribute(a))
    case AggregateExpression(First(of, _), _, _, _, _) if refers(of) => Some(() => nth(of, fromLast = false, 0))
    case AggregateExpression(Last(of, _), _, _, _, _) if refers(of) => Some(() => nth(of, fromLast = true, 0))
    case f: UnresolvedFunction if aggregate(f) && f.arguments.exists(refers) => Some(() => function(f))
    case _ => None
  }

  private def attribute(a: UnresolvedAttribute): Navigation =
    if (a.nameParts.size == 1) StepRows(step(a).get, row) else nth(a, fromLast = true, 0)

  private def function(f: UnresolvedFunction): Navigation = (name(f), f.arguments) match {
    case ("first" | "first_value", of +: offset) => nth(of, fromLast = false, number(offset))
    case ("last" | "last_value", of +: offset) => nth(of, fromLast = true, number(offset))
    case ("count", Seq(a: UnresolvedAttribute)) if a.nameParts.size == 1 && !f.isDistinct => StepRowCount(step(a).get)
    case ("count", Seq(UnresolvedStar(Some(Seq(named))))) => StepRowCount(numbered(named).get)
    case _ =>
      val (step, own) = stripped(f)
      val plan = analysed(Aggregate(Nil, Seq(Alias(own, "folded")()), kept))
      val results = ReplaceExpressions(plan).asInstanceOf[Aggregate].aggregateExpressions.map { case a: Alias => a.child }
      StepAggregate(step, Aggregates.of(results, columns, Nil))
  }

  private def nth(of: Expression, fromLast: Boolean, offset: Int): Navigation = {
    val (step, own) = stripped(of)
    NthRowValue(step, resolved(own), columns, fromLast, offset)
  }

  private def number(offset: Seq[Expression]): Int = offset match {
    case Nil => 0
    case Seq(Literal(n: Int, IntegerType)) if n >= 0 => n
    case other => throw new IllegalArgumentException(
      s"expected a number of rows, got ${other.map(_.sql).mkString(", ")}; write last(rise.price, 1) for the one before the last")
  }

  /** The one step an expression speaks of, and the expression over its row. */
  private def stripped(of: Expression): (Int, Expression) = {
    val own = of.transform {
      case a: UnresolvedAttribute if step(a).isDefined && a.nameParts.size > 1 => UnresolvedAttribute(a.nameParts.tail)
    }
    val names = of.collect { case a: UnresolvedAttribute => a }
    names.map(step).distinct match {
      case Seq(Some(one)) if names.forall(_.nameParts.size > 1) => (one, own)
      case _ => throw new IllegalArgumentException(
        s"expected columns of one step in ${of.sql}, such as ${steps.head}.${columns.head.name}")
    }
  }

  private def refers(e: Expression): Boolean = e.exists {
    case a: UnresolvedAttribute => step(a).isDefined
    case UnresolvedStar(Some(Seq(named))) => numbered(named).isDefined
    case _ => false
  }

  private def step(a: UnresolvedAttribute): Option[Int] = numbered(a.nameParts.head)
  private def numbered(name: String): Option[Int] = Some(steps.indexWhere(_.equalsIgnoreCase(name))).filter(_ >= 0)
  private def name(f: UnresolvedFunction): String = f.nameParts.last.toLowerCase(java.util.Locale.ROOT)
  private def aggregate(f: UnresolvedFunction): Boolean =
    FunctionRegistry.builtin.lookupFunction(org.apache.spark.sql.catalyst.FunctionIdentifier(name(f)))
      .exists(_.getGroup == "agg_funcs")

  private def resolved(e: Expression): Expression = single(Project(Seq(Alias(e, "value")()), kept))

  private def single(plan: Project): Expression = ReplaceExpressions(analysed(plan)) match {
    case Project(Seq(Alias(found, _)), child) if child.output.map(_.exprId) == plan.child.output.map(_.exprId) =>
      inlined(found)
    case _ => throw new IllegalArgumentException(
      s"expected an expression over single rows, got ${plan.projectList.head.asInstanceOf[Alias].child.sql}")
  }

  private def analysed(plan: LogicalPlan): LogicalPlan = {
    val execution = session.sessionState.executePlan(plan)
    execution.assertAnalyzed()
    execution.analyzed
  }

  /** Without expressions that name another's value, which only Spark's planner can resolve. */
  private def inlined(e: Expression): Expression = e.transformUp {
    case With(child, definitions) =>
      child.transform { case ref: CommonExpressionRef => definitions.find(_.id == ref.id).get.child }
  }
}
