/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

/** What an edge does with the row: takes it into the match, passes over it, or goes on with it to the next state. */
object Action extends Enumeration {
  val Take, Ignore, Proceed = Value
}

/** Where a partial match can be. `Pending` waits for its time to be up; `Stop` ends the partial match. */
object Kind extends Enumeration {
  val Normal, Final, Pending, Stop = Value
}

/** A way out of a state. The test can still change while the automaton is built. */
final class Edge(val action: Action.Value, val source: State, val target: State, var test: Test)

/**
 * A state of the automaton.
 *
 * @param id its number, which stored partial matches hold: the same declaration always gives the same numbers
 * @param step the step whose rows it takes; -1 for none
 */
final class State(val id: Int, val kind: Kind.Value, val step: Int) {
  val edges: mutable.ArrayBuffer[Edge] = mutable.ArrayBuffer.empty

  def isFinal: Boolean = kind == Kind.Final
  def isStop: Boolean = kind == Kind.Stop
  def isPending: Boolean = kind == Kind.Pending

  def add(action: Action.Value, target: State, test: Test): Unit = edges += new Edge(action, this, target, test)
  def take(target: State, test: Test): Unit = add(Action.Take, target, test)
  def ignore(target: State, test: Test): Unit = add(Action.Ignore, target, test)
  def proceed(target: State, test: Test): Unit = add(Action.Proceed, target, test)
}

/** The states of a pattern, by their numbers. */
final class Automaton(val states: IndexedSeq[State], val start: State)
