package org.apache.spark.sql.headrace.over

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, UnresolvedAttribute, UnresolvedFunction}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.classic
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.compat.SparkApi
import org.apache.spark.sql.headrace.operators.{Aggregates, OperatorPlan}
import org.apache.spark.sql.types.{DataType, IntegerType, StructField}

import scala.collection.mutable

/** A function of the place of a row among the rows of its key. */
sealed trait RankFunction
case object RowNumberOf extends RankFunction
case object RankOf extends RankFunction
case object DenseRankOf extends RankFunction

/**
 * `lag` or `lead`: the value of another row.
 *
 * @param shift how many rows later the other row is; negative for earlier ones
 * @param value the ordinal of its value among the neighbour values
 * @param default the ordinal of the value of this row that is used if there is no such row
 */
final case class Neighbour(shift: Int, value: Int, default: Int)

/**
 * The window functions of a step, and the results computed from them.
 *
 * @param columns the columns of a row
 * @param aggregates the aggregates over the frame of a row; None without any
 * @param ranks functions of the place of a row
 * @param neighbours values of other rows
 * @param values expressions over a row that its neighbours read
 * @param names names of the results
 * @param results the results over `columns`, the aggregates, the ranks and the neighbours' values
 * @param computed the columns of the function values, in this order
 */
final class OverFunctions(columns: Seq[Attribute], val aggregates: Option[Aggregates],
    val ranks: IndexedSeq[RankFunction], val neighbours: IndexedSeq[Neighbour], values: Seq[Expression],
    names: Seq[String], results: Seq[Expression], computed: Seq[Attribute])
    extends Serializable {
  val fields: Seq[StructField] = names.zip(results).map { case (name, e) => StructField(name, e.dataType) }
  val resultTypes: Array[DataType] = results.map(_.dataType).toArray

  /** The most rows that `lag` looks back, and that `lead` looks ahead. */
  val back: Int = neighbours.map(-_.shift).foldLeft(0)(math.max)
  val ahead: Int = neighbours.map(_.shift).foldLeft(0)(math.max)
  val usesIndex: Boolean = ranks.exists(_ != DenseRankOf)
  val usesGroups: Boolean = ranks.contains(DenseRankOf)
  val valueTypes: Array[DataType] = values.map(_.dataType).toArray

  /** Equal in two runs if their states are binary compatible. */
  def fingerprint: Int = (aggregates.map(_.fingerprint), ranks, neighbours, valueTypes.map(_.sql).toSeq,
    columns.map(a => (a.name, a.dataType.sql))).hashCode

  /** The values of a row that its neighbours read. Reuses its result. */
  @transient lazy val valuesOf: UnsafeProjection = UnsafeProjection.create(values, columns)
  @transient private lazy val resultOf = UnsafeProjection.create(results, columns ++ computed)
  @transient private lazy val joined = new JoinedRow
  private val aggregateTypes = aggregates.map(_.types.toArray).getOrElse(Array.empty[DataType])

  /** Number of function values of a row. */
  def width: Int = aggregateTypes.length + ranks.size + neighbours.size

  /** Sets the aggregates and ranks of a row. */
  def set(into: GenericInternalRow, frame: InternalRow, index: Long, groupStart: Long, groups: Long): Unit = {
    var i = 0
    while (i < aggregateTypes.length) {
      into.update(i, frame.get(i, aggregateTypes(i)))
      i += 1
    }
    ranks.foreach { rank =>
      into.update(i,
        rank match {
          case RowNumberOf => (index + 1).toInt
          case RankOf => (groupStart + 1).toInt
          case DenseRankOf => groups.toInt
        })
      i += 1
    }
  }

  /** Sets the values of other rows; `valuesAt` returns those of a row by its distance, null if there is none. */
  def setNeighbours(into: GenericInternalRow, own: InternalRow)(valuesAt: Int => InternalRow): Unit = {
    var i = aggregateTypes.length + ranks.size
    neighbours.foreach { neighbour =>
      val row = valuesAt(neighbour.shift)
      val at = if (row != null) neighbour.value else neighbour.default
      into.update(i, (if (row != null) row else own).get(at, valueTypes(at)))
      i += 1
    }
  }

  def result(row: InternalRow, computed: InternalRow): UnsafeRow = resultOf(joined(row, computed)).copy()
}

object OverFunctions {
  private val Ranks = Map("row_number" -> RowNumberOf, "rank" -> RankOf, "dense_rank" -> DenseRankOf)
  private val Whole = Set("ntile", "percent_rank", "cume_dist")

  /**
   * Reads the columns of a step, each an expression over window functions and columns.
   *
   * @param frame the plan of the input, with internal columns
   * @param columns the columns that rows have where the functions are evaluated
   * @param texts names and expressions
   */
  def parse(session: SparkSession, frame: LogicalPlan, columns: Seq[Attribute], texts: Seq[(String, String)])
      : OverFunctions = {
    val calls = mutable.LinkedHashMap.empty[Expression, UnresolvedAttribute]
    val parser = session.sessionState.sqlParser
    val formulas = texts.map { case (_, text) =>
      replaceCalls(parser.parseExpression(text)) { call =>
        calls.getOrElseUpdate(call, UnresolvedAttribute.quoted(s"__call${calls.size}"))
      }
    }
    val (offsets, others) = calls.toSeq.partition { case (call, _) => isOffset(call) }
    val (places, folds) = others.partition { case (call, _) => nameOf(call).exists(Ranks.contains) }
    val aggregated = analyseAggregates(session, frame, folds.map(_._1))
    val shifted = offsets.map { case (call, _) => offsetOf(session, frame, call) }
    val computed = folds.map(_._2).zip(aggregated.map(_.dataType)) ++ places.map(_._2 -> IntegerType) ++
      offsets.map(_._2).zip(shifted.map(_.value.dataType))
    val attributes = computed.map { case (name, kind) => AttributeReference(name.name, kind)() }
    val results = analyse(session, LocalRelation(frame.output ++ attributes), formulas)
    new OverFunctions(
      columns, if (folds.isEmpty) None else Some(Aggregates.of(aggregated, columns, Nil)),
      places.flatMap { case (call, _) => nameOf(call).map(Ranks) }.toIndexedSeq,
      shifted.zipWithIndex.map { case (offset, i) => Neighbour(offset.shift, 2 * i, 2 * i + 1) }.toIndexedSeq,
      shifted.flatMap(offset => Seq(offset.value, offset.default)), texts.map(_._1), results, attributes)
  }

  private final case class Shifted(shift: Int, value: Expression, default: Expression)

  private def isOffset(call: Expression): Boolean = nameOf(call).exists(Set("lag", "lead"))

  private def nameOf(e: Expression): Option[String] = e match {
    case f: UnresolvedFunction if f.nameParts.size == 1 => Some(f.nameParts.head.toLowerCase)
    case _ => None
  }

  /** Replaces the outermost calls of window functions and aggregates. */
  private def replaceCalls(e: Expression)(replace: Expression => Expression): Expression = e match {
    case _: WindowExpression | _: UnresolvedWindowExpression =>
      refuse("OVER is written by the step", "leave it out: sum(amount)")
    case f: UnresolvedFunction if isWindowed(f) => replace(f)
    case a: AggregateExpression => replace(a)
    case other => other.mapChildren(replaceCalls(_)(replace))
  }

  private def isWindowed(f: UnresolvedFunction): Boolean = nameOf(f).exists { name =>
    if (Whole.contains(name)) {
      refuse(s"$name needs all rows of the key, and a stream has no last row", "use row_number() or rank()")
    }
    if (name == "nth_value") refuse("nth_value is not supported", "use element_at(collect_list(x), n)")
    val group = FunctionRegistry.builtin.lookupFunction(FunctionIdentifier(name)).map(_.getGroup)
    group.exists(kind => kind == "agg_funcs" || kind == "window_funcs")
  }

  private def analyseAggregates(
      session: SparkSession, frame: LogicalPlan, calls: Seq[Expression]): Seq[Expression] =
    if (calls.isEmpty) Nil
    else {
      val named = calls.zipWithIndex.map { case (call, i) => Alias(call, s"__v$i")() }
      val plan = resolve(session, Aggregate(Nil, named, frame)) match {
        case a: Aggregate if a.child.output.map(_.exprId) == frame.output.map(_.exprId) => a
        case _ => refuse("an aggregate needs a step of its own", "compute its input with with_columns before")
      }
      ReplaceExpressions(plan).asInstanceOf[Aggregate].aggregateExpressions.map(plain)
    }

  private def offsetOf(session: SparkSession, frame: LogicalPlan, call: Expression): Shifted = {
    val f = call.asInstanceOf[UnresolvedFunction]
    val name = nameOf(f).get
    if (SparkApi.ignoresNulls(f)) refuse(s"$name does not support IGNORE NULLS", "filter the rows before")
    if (f.arguments.isEmpty || f.arguments.size > 3) {
      refuse(s"$name has the arguments value, rows, default", s"such as $name(price, 1, 0)")
    }
    val offset = f.arguments.lift(1).map(e => analyse(session, frame, Seq(e)).head)
    val rows = offset.fold(1) {
      case e if e.foldable && e.dataType == IntegerType => e.eval().asInstanceOf[Int]
      case _ => refuse(s"the number of rows of $name must be a whole number", s"such as $name(price, 1)")
    }
    val Seq(value) = analyse(session, frame, Seq(f.arguments.head))
    val default = f.arguments.lift(2).map(e => analyse(session, frame, Seq(Cast(e, value.dataType))).head)
    Shifted(if (name == "lag") -rows else rows, value, default.getOrElse(Literal(null, value.dataType)))
  }

  private def analyse(session: SparkSession, plan: LogicalPlan, of: Seq[Expression]): Seq[Expression] =
    if (of.isEmpty) Nil
    else {
      val named = of.zipWithIndex.map { case (e, i) => Alias(e, s"__r$i")() }
      resolve(session, Project(named, plan)) match {
        case p: Project if p.child.output.map(_.exprId) == plan.output.map(_.exprId) =>
          ReplaceExpressions(p).asInstanceOf[Project].projectList.map(plain)
        case _ => refuse("an expression needs a step of its own", "compute it before or after")
      }
    }

  private def resolve(session: SparkSession, plan: LogicalPlan): LogicalPlan = OperatorPlan
    .planOf(classic.Dataset.ofRows(session, plan))

  private def plain(e: Expression): Expression = OperatorPlan.inlineCommonExpressions(e match {
    case a: Alias => a.child
    case other => other
  })

  private def refuse(what: String, hint: String): Nothing =
    throw new IllegalArgumentException(s"$what; $hint")
}
