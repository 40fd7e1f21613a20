package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.Time

/** Effect of a row on a partial match. */
sealed trait Outcome
final case class TakenFor(step: Int) extends Outcome
final case class StoppedBy(step: Int) extends Outcome
case object PassedOver extends Outcome

/** What a partial match waits for: steps, stops, strictly the next row, or a timeout. */
final case class AwaitedRows(steps: Seq[Int], stops: Seq[Int], strict: Boolean, pending: Boolean)

/** Inspects the automaton: which transitions a row enables, and which conditions were evaluated. */
final class AutomatonProbe(spec: PatternSpec, val parts: IndexedSeq[Seq[ConditionPart]]) {
  /** For each condition its step and role: `where`, `not` or `until`. */
  val roles: Map[Int, (String, String)] = rolesOf(spec.elements).toMap

  private val conditions: Map[Int, Int] = leaves(spec.elements).collect { case (step, ConditionTest(n)) =>
    step -> n
  }.toMap

  /** Text of a step's condition; null if any row matches. */
  def condition(step: Int): String = conditions.get(step).map(spec.conditions).orNull

  /** Groups partial matches with the same rows; they differ only in how they may continue. */
  def groupByRows(partials: Iterable[PartialMatch]): Seq[Seq[PartialMatch]] = {
    val groups = mutable.LinkedHashMap.empty[TakenLink, mutable.ArrayBuffer[PartialMatch]]
    partials.toSeq.sortBy(_.first)
      .foreach(p => groups.getOrElseUpdate(p.last, mutable.ArrayBuffer.empty) += p)
    groups.values.map(_.toSeq).toSeq
  }

  def rowsOf(of: PartialMatch): MatchedRows = new LinkedRows(of.last, spec.steps.size)
  def deadline(of: PartialMatch): Option[Long] =
    (spec.within.map(Time.plus(of.firstTime, _)) ++ spec.between.map(Time.plus(of.lastTime, _))).minOption

  /** Conditions evaluated for a row with their results, and the outcomes. */
  def at(group: Seq[PartialMatch], row: InternalRow, time: Long): (Seq[(Int, Boolean)], Set[Outcome]) = {
    val results = mutable.TreeMap.empty[Int, Boolean]
    val context = new TestContext {
      override def condition(number: Int): Boolean = results
        .getOrElseUpdate(number, parts(number).forall(_.holds(row, rowsOf(group.head))))
      override def sincePrevious: Long = time - group.head.lastTime
    }
    val outcomes = group.flatMap { partial =>
      reachableEdges(partial.state,
        edge => { conditionsIn(edge.test).foreach(context.condition); edge.test.passes(context) }).collect {
        case edge if edge.action == EdgeAction.Take && edge.target.isStop => StoppedBy(edge.target.step)
        case edge if edge.action == EdgeAction.Take => TakenFor(edge.source.step)
        case edge if edge.action == EdgeAction.Ignore => PassedOver
      }
    }
    (results.toSeq, outcomes.toSet)
  }

  def describe(outcomes: Set[Outcome], started: Boolean): String = {
    val stops = outcomes.collect { case StoppedBy(step) => spec.steps(step) }
    val takes = outcomes.collect { case TakenFor(step) => spec.steps(step) }.toSeq.sorted
    if (stops.nonEmpty) s"ended by ${stops.mkString(", ")}"
    else if (takes.nonEmpty) {
      s"${if (started) "taken as" else "begins a match as"} ${takes.mkString(" and as ")}" +
        (if (started && outcomes(PassedOver)) ", and passed over" else "")
    } else if (!started) "begins nothing"
    else if (outcomes(PassedOver)) "passed over"
    else "ended: the next row had to fit"
  }

  def findAwaited(states: Seq[AutomatonState]): AwaitedRows = {
    val edges = states.flatMap(reachableEdges(_, _ => true))
    val takes = edges.filter(_.action == EdgeAction.Take)
    AwaitedRows(
      takes.filterNot(_.target.isStop).map(_.source.step).distinct.sorted,
      takes.filter(_.target.isStop).map(_.target.step).distinct.sorted,
      strict = !edges.exists(_.action == EdgeAction.Ignore), pending = states.exists(_.isPending))
  }

  /** Edges that take or ignore a row, from a state and those it proceeds to. */
  private def reachableEdges(from: AutomatonState, passes: AutomatonEdge => Boolean): Seq[AutomatonEdge] = {
    val (edges, seen) = (mutable.ArrayBuffer.empty[AutomatonEdge], mutable.HashSet(from))
    var open = List(from)
    while (open.nonEmpty) {
      val at = open.head
      open = open.tail
      at.edges.filter(passes).foreach { edge =>
        if (edge.action != EdgeAction.Proceed) edges += edge
        else if (seen.add(edge.target)) open ::= edge.target
      }
    }
    edges.toSeq
  }

  private def conditionsIn(test: EdgeTest): Seq[Int] = test match {
    case ConditionTest(number) => Seq(number)
    case NotTest(of) => conditionsIn(of)
    case AndTest(first, second) => conditionsIn(first) ++ conditionsIn(second)
    case OrTest(tests) => tests.flatMap(conditionsIn)
    case _ => Nil
  }

  private def leaves(elements: Seq[PatternElement]): Seq[(Int, EdgeTest)] = elements.flatMap(_.body match {
    case ElementStep(step, condition) => Seq(step -> condition)
    case ElementGroup(inner) => leaves(inner)
    case Alternatives(alternatives) => alternatives.flatMap(leaves)
  })

  private def rolesOf(elements: Seq[PatternElement]): Seq[(Int, (String, String))] = elements
    .flatMap { element =>
      val name = spec.steps(leaves(Seq(element)).head._1)
      val own = element.body match {
        case ElementStep(_, ConditionTest(n)) => Seq(n -> (name, if (element.negated) "not" else "where"))
        case ElementStep(_, _) => Nil
        case ElementGroup(inner) => rolesOf(inner)
        case Alternatives(alternatives) => alternatives.flatMap(rolesOf)
      }
      own ++ element.until.collect { case ConditionTest(n) => n -> (name, "until") }
    }
}
