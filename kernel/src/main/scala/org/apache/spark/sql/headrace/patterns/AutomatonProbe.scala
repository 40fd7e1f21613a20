package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.Time

/** What becomes of a partial match with a row. */
sealed trait Outcome
final case class TakenFor(step: Int) extends Outcome
final case class StoppedBy(step: Int) extends Outcome
case object PassedOver extends Outcome

/** What a partial match waits for: rows of these steps, none of those, the very next row only, or the time to be up. */
final case class AwaitedRows(steps: Seq[Int], stops: Seq[Int], strict: Boolean, pending: Boolean)

/** Looks at the automaton from the outside: which ways a row opens, and which conditions were asked for it. */
final class AutomatonProbe(spec: PatternSpec, val parts: IndexedSeq[Seq[ConditionPart]]) {
  /** For each condition the step that has it, and what it is there: `where`, `not` or `until`. */
  val roles: Map[Int, (String, String)] = rolesOf(spec.elements).toMap

  private val conditions: Map[Int, Int] = leaves(spec.elements).collect { case (step, ConditionTest(n)) => step -> n }.toMap

  /** The text of a step's condition; null where any row will do. */
  def condition(step: Int): String = conditions.get(step).map(spec.conditions).orNull

  /** PartialMatch matches with the same rows are one for a reader: they differ in where they may go on. */
  def together(partials: Iterable[PartialMatch]): Seq[Seq[PartialMatch]] = {
    val groups = mutable.LinkedHashMap.empty[TakenLink, mutable.ArrayBuffer[PartialMatch]]
    partials.toSeq.sortBy(_.first).foreach(p => groups.getOrElseUpdate(p.last, mutable.ArrayBuffer.empty) += p)
    groups.values.map(_.toSeq).toSeq
  }

  def matched(of: PartialMatch): MatchedRows = new LinkedRows(of.last, spec.steps.size)

  def deadline(of: PartialMatch): Option[Long] = (
    spec.within.map(Time.plus(of.firstTime, _)) ++ spec.between.map(Time.plus(of.lastTime, _))).minOption

  /** The conditions asked of a row, with their answers, and what becomes of the partial matches. */
  def at(several: Seq[PartialMatch], row: InternalRow, time: Long): (Seq[(Int, Boolean)], Set[Outcome]) = {
    val known = mutable.TreeMap.empty[Int, Boolean]
    val asked = new TestContext {
      override def condition(number: Int): Boolean =
        known.getOrElseUpdate(number, parts(number).forall(_.holds(row, matched(several.head))))
      override def sincePrevious: Long = time - several.head.lastTime
    }
    val outcomes = several.flatMap { partial =>
      reached(partial.state, edge => { mentioned(edge.test).foreach(asked.condition); edge.test.passes(asked) }).collect {
        case edge if edge.action == EdgeAction.Take && edge.target.isStop => StoppedBy(edge.target.step)
        case edge if edge.action == EdgeAction.Take => TakenFor(edge.source.step)
        case edge if edge.action == EdgeAction.Ignore => PassedOver
      }
    }
    (known.toSeq, outcomes.toSet)
  }

  def said(outcomes: Set[Outcome], started: Boolean): String = {
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

  def awaited(states: Seq[AutomatonState]): AwaitedRows = {
    val edges = states.flatMap(reached(_, _ => true))
    val takes = edges.filter(_.action == EdgeAction.Take)
    AwaitedRows(
      takes.filterNot(_.target.isStop).map(_.source.step).distinct.sorted,
      takes.filter(_.target.isStop).map(_.target.step).distinct.sorted,
      strict = !edges.exists(_.action == EdgeAction.Ignore),
      pending = states.exists(_.isPending))
  }

  /** The edges that take or pass over a row, from a state and those it proceeds to. */
  private def reached(from: AutomatonState, passes: AutomatonEdge => Boolean): Seq[AutomatonEdge] = {
    val (found, seen) = (mutable.ArrayBuffer.empty[AutomatonEdge], mutable.HashSet(from))
    var open = List(from)
    while (open.nonEmpty) {
      val at = open.head
      open = open.tail
      at.edges.filter(passes).foreach { edge =>
        if (edge.action != EdgeAction.Proceed) found += edge
        else if (seen.add(edge.target)) open ::= edge.target
      }
    }
    found.toSeq
  }

  private def mentioned(test: EdgeTest): Seq[Int] = test match {
    case ConditionTest(number) => Seq(number)
    case NotTest(of) => mentioned(of)
    case AndTest(first, second) => mentioned(first) ++ mentioned(second)
    case OrTest(tests) => tests.flatMap(mentioned)
    case _ => Nil
  }

  private def leaves(elements: Seq[PatternElement]): Seq[(Int, EdgeTest)] = elements.flatMap(_.body match {
    case ElementStep(step, condition) => Seq(step -> condition)
    case ElementGroup(inner) => leaves(inner)
    case Alternatives(alternatives) => alternatives.flatMap(leaves)
  })

  private def rolesOf(elements: Seq[PatternElement]): Seq[(Int, (String, String))] = elements.flatMap { element =>
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
