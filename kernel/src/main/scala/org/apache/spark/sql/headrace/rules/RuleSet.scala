package org.apache.spark.sql.headrace.rules

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.headrace.patterns.{Alternatives, ConditionTest, ElementGroup, ElementStep, MatchStep, PatternElement}

/**
 * A rule that is in force.
 *
 * @param serial tells its state from that of other rules and of other versions of this one
 * @param since the number of the first set that has it; it sees rows that came since
 */
final case class ActiveRule(id: String, version: Int, serial: Int, since: Long, rule: Rule) extends Serializable

/**
 * The rules of an epoch, put together: what they ask of a row alone is in one list, each question once.
 *
 * @param number counts the sets of a step, one more for each change
 */
final class RuleSet(val number: Long, val rules: IndexedSeq[ActiveRule]) extends Serializable {
  /** What is asked of a row, whoever asks. */
  val questions: IndexedSeq[Expression] = rules.flatMap(_.rule.plain.flatten).distinctBy(_.canonicalized)

  private val numbered: Map[Expression, Int] = questions.map(_.canonicalized).zipWithIndex.toMap

  /** For each rule and condition, the questions that must all be answered with yes. */
  val asked: Array[Array[Array[Int]]] =
    rules.map(_.rule.plain.map(_.map(part => numbered(part.canonicalized)).distinct.toArray).toArray).toArray

  /** Whether a row that satisfies no condition of a rule changes nothing for it. */
  val selective: Array[Boolean] = rules.indices.map { i =>
    MatchStep.selective(rules(i).rule.spec.elements, whole = true) && asked(i).forall(_.nonEmpty)
  }.toArray

  /** MatchContext that any row may begin. */
  val always: Array[Int] = rules.indices.filter(i => first(i).exists(_.forall(asked(i)(_).isEmpty))).toArray

  /** For each question, the rules that a row may begin only if its answer is yes. */
  val starting: Array[Array[Int]] = {
    val found = Array.fill(questions.size)(mutable.LinkedHashSet.empty[Int])
    for (i <- rules.indices if !always.contains(i); condition <- first(i).flatten) found(telling(asked(i)(condition))) += i
    found.map(_.toArray)
  }

  /** Questions such that a row that answers all of them with no can make no difference; null where any row can. */
  val telling: Array[Int] =
    if (selective.contains(false)) null else asked.flatMap(_.map(telling(_))).distinct

  /** Of the questions of a condition the one that the fewest ask: it is the least likely to hold. */
  private def telling(condition: Array[Int]): Int = condition.minBy(uses)

  private lazy val uses: Array[Int] = {
    val found = new Array[Int](questions.size)
    asked.foreach(_.foreach(_.foreach(q => found(q) += 1)))
    found
  }

  /** The conditions that the first row of a rule may satisfy; None stands for no condition. */
  private def first(rule: Int): Seq[Option[Int]] = RuleSet.first(rules(rule).rule.spec.elements)
}

object RuleSet {
  val none: RuleSet = new RuleSet(0, Vector.empty)

  private def first(elements: IndexedSeq[PatternElement]): Seq[Option[Int]] = {
    val optional = elements.takeWhile(absent).size
    elements.take(optional + 1).filterNot(_.negated).flatMap(_.body match {
      case ElementStep(_, ConditionTest(condition)) => Seq(Some(condition))
      case _: ElementStep => Seq(None)
      case ElementGroup(inner) => first(inner)
      case Alternatives(alternatives) => alternatives.flatMap(first)
    })
  }

  private def absent(element: PatternElement): Boolean = element.optional || (element.body match {
    case _: ElementStep => false
    case ElementGroup(inner) => inner.forall(absent)
    case Alternatives(alternatives) => alternatives.exists(_.forall(absent))
  })
}
