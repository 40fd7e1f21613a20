package org.apache.spark.sql.headrace.rules

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.headrace.patterns.{Alternatives, ConditionTest, ElementGroup, ElementStep, MatchStep, PatternElement}

/**
 * An active rule.
 *
 * @param serial identifies the state of this version of the rule
 * @param since number of the first rule set that contains it; earlier rows do not reach it
 */
final case class ActiveRule(id: String, version: Int, serial: Int, since: Long, rule: Rule)
    extends Serializable

/**
 * The rules of an epoch. Conditions on the row alone are collected in one list without duplicates.
 *
 * @param number the number of this set; increases with each change
 */
final class RuleSet(val number: Long, val rules: IndexedSeq[ActiveRule]) extends Serializable {
  val conditions: IndexedSeq[Expression] = rules.flatMap(_.rule.plain.flatten).distinctBy(_.canonicalized)
  private val indexOf: Map[Expression, Int] = conditions.map(_.canonicalized).zipWithIndex.toMap

  /** For each rule and condition, the indexes of the shared conditions that must all hold. */
  val required: Array[Array[Array[Int]]] = rules
    .map(_.rule.plain.map(_.map(part => indexOf(part.canonicalized)).distinct.toArray).toArray).toArray

  /** For each rule, true if rows that satisfy none of its conditions have no effect. */
  val selective: Array[Boolean] = rules.indices.map { i =>
    MatchStep.isSelective(rules(i).rule.spec.elements, whole = true) && required(i).forall(_.nonEmpty)
  }.toArray

  /** Rules that any row may start. */
  val always: Array[Int] = rules.indices.filter(i => first(i).exists(_.forall(required(i)(_).isEmpty)))
    .toArray

  /** For each shared condition, the rules that a row may start only if it holds. */
  val starting: Array[Array[Int]] = {
    val counts = Array.fill(conditions.size)(mutable.LinkedHashSet.empty[Int])
    for (i <- rules.indices if !always.contains(i); condition <- first(i).flatten)
      counts(mostSelective(required(i)(condition))) += i
    counts.map(_.toArray)
  }

  /** A row for which none of these conditions holds has no effect; null if every row may have one. */
  val relevant: Array[Int] =
    if (selective.contains(false)) null else required.flatMap(_.map(mostSelective(_))).distinct

  /** The least used, thus most selective, of the shared conditions. */
  private def mostSelective(condition: Array[Int]): Int = condition.minBy(uses)

  private lazy val uses: Array[Int] = {
    val counts = new Array[Int](conditions.size)
    required.foreach(_.foreach(_.foreach(q => counts(q) += 1)))
    counts
  }

  /** Conditions that the first row of a rule may satisfy; None for no condition. */
  private def first(rule: Int): Seq[Option[Int]] = RuleSet.first(rules(rule).rule.spec.elements)
}

object RuleSet {
  val empty: RuleSet = new RuleSet(0, Vector.empty)

  private def first(elements: IndexedSeq[PatternElement]): Seq[Option[Int]] = {
    val optional = elements.takeWhile(mayBeAbsent).size
    elements.take(optional + 1).filterNot(_.negated).flatMap(_.body match {
      case ElementStep(_, ConditionTest(condition)) => Seq(Some(condition))
      case _: ElementStep => Seq(None)
      case ElementGroup(inner) => first(inner)
      case Alternatives(alternatives) => alternatives.flatMap(first)
    })
  }

  private def mayBeAbsent(element: PatternElement): Boolean = element.optional ||
    (element.body match {
      case _: ElementStep => false
      case ElementGroup(inner) => inner.forall(mayBeAbsent)
      case Alternatives(alternatives) => alternatives.exists(_.forall(mayBeAbsent))
    })
}
