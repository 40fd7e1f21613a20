package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

/** Effect of an edge on the row: take it into the match, ignore it, or proceed with it to the next state. */
object EdgeAction extends Enumeration {
  val Take, Ignore, Proceed = Value
}

/** Kinds of states. `Pending` waits for a timeout; `Stop` ends the partial match. */
object StateKind extends Enumeration {
  val Normal, Final, Pending, Stop = Value
}

/** A transition. Its test may change while the automaton is built. */
final class AutomatonEdge(val action: EdgeAction.Value, val source: AutomatonState,
    val target: AutomatonState, var test: EdgeTest)

/**
 * A state of the automaton.
 *
 * @param id its index, which stored partial matches refer to; deterministic for a declaration
 * @param step the step whose rows it takes; -1 for none
 */
final class AutomatonState(val id: Int, val kind: StateKind.Value, val step: Int) {
  val edges: mutable.ArrayBuffer[AutomatonEdge] = mutable.ArrayBuffer.empty
  def isFinal: Boolean = kind == StateKind.Final
  def isStop: Boolean = kind == StateKind.Stop
  def isPending: Boolean = kind == StateKind.Pending
  def add(action: EdgeAction.Value, target: AutomatonState, test: EdgeTest): Unit = edges +=
    new AutomatonEdge(action, this, target, test)
  def take(target: AutomatonState, test: EdgeTest): Unit = add(EdgeAction.Take, target, test)
  def ignore(target: AutomatonState, test: EdgeTest): Unit = add(EdgeAction.Ignore, target, test)
  def proceed(target: AutomatonState, test: EdgeTest): Unit = add(EdgeAction.Proceed, target, test)
}

final class Automaton(val states: IndexedSeq[AutomatonState], val start: AutomatonState)

/** Test that a row must pass to follow an edge. */
sealed trait EdgeTest extends Serializable {
  def passes(context: TestContext): Boolean
  def and(other: EdgeTest): EdgeTest =
    if (this == AlwaysTrue) other else if (other == AlwaysTrue) this else AndTest(this, other)
}

/** Inputs of a test: the declared conditions, and the time since the partial match took its last row. */
trait TestContext {
  def condition(number: Int): Boolean
  def sincePrevious: Long
}

case object AlwaysTrue extends EdgeTest {
  override def passes(context: TestContext): Boolean = true
}

/** A declared condition, by index. */
final case class ConditionTest(condition: Int) extends EdgeTest {
  override def passes(context: TestContext): Boolean = context.condition(condition)
}

final case class NotTest(test: EdgeTest) extends EdgeTest {
  override def passes(context: TestContext): Boolean = !test.passes(context)
}

final case class AndTest(first: EdgeTest, second: EdgeTest) extends EdgeTest {
  override def passes(context: TestContext): Boolean = first.passes(context) && second.passes(context)
}

final case class OrTest(tests: Seq[EdgeTest]) extends EdgeTest {
  override def passes(context: TestContext): Boolean = tests.exists(_.passes(context))
}

/** True if the last row was taken less than `gap` ago. */
final case class WithinGap(gap: Long) extends EdgeTest {
  override def passes(context: TestContext): Boolean = context.sincePrevious < gap
}
