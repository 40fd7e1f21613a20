/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.patterns

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.windows.Time

import scala.collection.mutable

/** What becomes of a partial match with a row. */
sealed trait Outcome
final case class TakenAs(step: Int) extends Outcome
final case class StoppedBy(step: Int) extends Outcome
case object PassedOver extends Outcome

/** What a partial match waits for: rows of these steps, none of those, the very next row only, or the time to be up. */
final case class Awaited(steps: Seq[Int], stops: Seq[Int], strict: Boolean, pending: Boolean)

/** Looks at the automaton from the outside: which ways a row opens, and which conditions were asked for it. */
final class Look(spec: Spec, val parts: IndexedSeq[Seq[Part]]) {
  /** For each condition the step that has it, and what it is there: `where`, `not` or `until`. */
  val roles: Map[Int, (String, String)] = rolesOf(spec.elements).toMap

  private val conditions: Map[Int, Int] = leaves(spec.elements).collect { case (step, Holds(n)) => step -> n }.toMap

  /** The text of a step's condition; null where any row will do. */
  def condition(step: Int): String = conditions.get(step).map(spec.conditions).orNull

  /** Partial matches with the same rows are one for a reader: they differ in where they may go on. */
  def together(partials: Iterable[Partial]): Seq[Seq[Partial]] = {
    val groups = mutable.LinkedHashMap.empty[Link, mutable.ArrayBuffer[Partial]]
    partials.toSeq.sortBy(_.first).foreach(p => groups.getOrElseUpdate(p.last, mutable.ArrayBuffer.empty) += p)
    groups.values.map(_.toSeq).toSeq
  }

  def matched(of: Partial): Matched = new LinkedRows(of.last, spec.steps.size)

  def deadline(of: Partial): Option[Long] = (
    spec.within.map(Time.plus(of.firstTime, _)) ++ spec.between.map(Time.plus(of.lastTime, _))).minOption

  /** The conditions asked of a row, with their answers, and what becomes of the partial matches. */
  def at(several: Seq[Partial], row: InternalRow, time: Long): (Seq[(Int, Boolean)], Set[Outcome]) = {
    val known = mutable.TreeMap.empty[Int, Boolean]
    val asked = new Asked {
      override def condition(number: Int): Boolean =
        known.getOrElseUpdate(number, parts(number).forall(_.holds(row, matched(several.head))))
      override def sincePrevious: Long = time - several.head.lastTime
    }
    val outcomes = several.flatMap { partial =>
      reached(partial.state, edge => { mentioned(edge.test).foreach(asked.condition); edge.test.passes(asked) }).collect {
        case edge if edge.action == Action.Take && edge.target.isStop => StoppedBy(edge.target.step)
        case edge if edge.action == Action.Take => TakenAs(edge.source.step)
        case edge if edge.action == Action.Ignore => PassedOver
      }
    }
    (known.toSeq, outcomes.toSet)
  }

  def said(outcomes: Set[Outcome], started: Boolean): String = {
    val stops = outcomes.collect { case StoppedBy(step) => spec.steps(step) }
    val takes = outcomes.collect { case TakenAs(step) => spec.steps(step) }.toSeq.sorted
    if (stops.nonEmpty) s"ended by ${stops.mkString(", ")}"
    else if (takes.nonEmpty) {
      s"${if (started) "taken as" else "begins a match as"} ${takes.mkString(" and as ")}" +
        (if (started && outcomes(PassedOver)) ", and passed over" else "")
    } else if (!started) "begins nothing"
    else if (outcomes(PassedOver)) "passed over"
    else "ended: the next row had to fit"
  }

  def awaited(states: Seq[State]): Awaited = {
    val edges = states.flatMap(reached(_, _ => true))
    val takes = edges.filter(_.action == Action.Take)
    Awaited(
      takes.filterNot(_.target.isStop).map(_.source.step).distinct.sorted,
      takes.filter(_.target.isStop).map(_.target.step).distinct.sorted,
      strict = !edges.exists(_.action == Action.Ignore),
      pending = states.exists(_.isPending))
  }

  /** The edges that take or pass over a row, from a state and those it proceeds to. */
  private def reached(from: State, passes: Edge => Boolean): Seq[Edge] = {
    val (found, seen) = (mutable.ArrayBuffer.empty[Edge], mutable.HashSet(from))
    var open = List(from)
    while (open.nonEmpty) {
      val at = open.head
      open = open.tail
      at.edges.filter(passes).foreach { edge =>
        if (edge.action != Action.Proceed) found += edge
        else if (seen.add(edge.target)) open ::= edge.target
      }
    }
    found.toSeq
  }

  private def mentioned(test: Test): Seq[Int] = test match {
    case Holds(number) => Seq(number)
    case Not(of) => mentioned(of)
    case Both(first, second) => mentioned(first) ++ mentioned(second)
    case AnyOf(tests) => tests.flatMap(mentioned)
    case _ => Nil
  }

  private def leaves(elements: Seq[Element]): Seq[(Int, Test)] = elements.flatMap(_.body match {
    case Leaf(step, condition) => Seq(step -> condition)
    case Group(inner) => leaves(inner)
    case Either(alternatives) => alternatives.flatMap(leaves)
  })

  private def rolesOf(elements: Seq[Element]): Seq[(Int, (String, String))] = elements.flatMap { element =>
    val name = spec.steps(leaves(Seq(element)).head._1)
    val own = element.body match {
      case Leaf(_, Holds(n)) => Seq(n -> (name, if (element.negated) "not" else "where"))
      case Leaf(_, _) => Nil
      case Group(inner) => rolesOf(inner)
      case Either(alternatives) => alternatives.flatMap(rolesOf)
    }
    own ++ element.until.collect { case Holds(n) => n -> (name, "until") }
  }
}
