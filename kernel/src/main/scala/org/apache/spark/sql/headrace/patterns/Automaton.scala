package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

/** What an edge does with the row: takes it into the match, passes over it, or goes on with it to the next state. */
object EdgeAction extends Enumeration {
  val Take, Ignore, Proceed = Value
}

/** Where a partial match can be. `Pending` waits for its time to be up; `Stop` ends the partial match. */
object StateKind extends Enumeration {
  val Normal, Final, Pending, Stop = Value
}

/** A way out of a state. The test can still change while the automaton is built. */
final class AutomatonEdge(val action: EdgeAction.Value, val source: AutomatonState, val target: AutomatonState, var test: EdgeTest)

/**
 * A state of the automaton.
 *
 * @param id its number, which stored partial matches hold: the same declaration always gives the same numbers
 * @param step the step whose rows it takes; -1 for none
 */
final class AutomatonState(val id: Int, val kind: StateKind.Value, val step: Int) {
  val edges: mutable.ArrayBuffer[AutomatonEdge] = mutable.ArrayBuffer.empty

  def isFinal: Boolean = kind == StateKind.Final
  def isStop: Boolean = kind == StateKind.Stop
  def isPending: Boolean = kind == StateKind.Pending

  def add(action: EdgeAction.Value, target: AutomatonState, test: EdgeTest): Unit = edges += new AutomatonEdge(action, this, target, test)
  def take(target: AutomatonState, test: EdgeTest): Unit = add(EdgeAction.Take, target, test)
  def ignore(target: AutomatonState, test: EdgeTest): Unit = add(EdgeAction.Ignore, target, test)
  def proceed(target: AutomatonState, test: EdgeTest): Unit = add(EdgeAction.Proceed, target, test)
}

/** The states of a pattern, by their numbers. */
final class Automaton(val states: IndexedSeq[AutomatonState], val start: AutomatonState)
