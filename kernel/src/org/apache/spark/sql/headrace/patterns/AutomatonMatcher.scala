/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.patterns

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.windows.Time

import scala.collection.mutable

/** What the automaton asks of the step around it: its conditions, and how its results look. */
trait Rules {
  /** Whether a condition holds for a row, given the rows matched so far. */
  def holds(condition: Int, row: InternalRow, matched: Matched): Boolean

  /** What is kept of a row that is taken. */
  def kept(row: InternalRow): UnsafeRow

  /** What a match gives, which began at `start` and whose own time is `time`. */
  def found(key: InternalRow, matched: Matched, start: Long, time: Long): InternalRow
  def timedOut(key: InternalRow, matched: Matched, start: Long, time: Long): InternalRow
}

/**
 * Runs the automaton over the rows of a key: every partial match meets every row, and may go several ways with it.
 *
 * With a skip, a complete match waits while a partial match that began earlier is alive, because that one, once
 * complete, may leave it out.
 */
final class AutomatonMatcher(spec: Spec, automaton: Automaton, rules: Rules, columns: Int) extends Matcher {
  type Memory = Partials
  val codec: PartialsCodec = new PartialsCodec(automaton, columns)
  private val start = automaton.start
  private val timed = spec.within.isDefined || spec.between.isDefined

  override def empty: Partials = new Partials(start)
  override def isEmpty(memory: Partials): Boolean = memory.nothing
  override def read(in: Input): Partials = codec.read(in)
  override def write(memory: Partials, out: Output): Unit = codec.write(memory, out)

  override def take(key: InternalRow, memory: Partials, row: InternalRow, time: Long, out: Found): Unit =
    if (!memory.nothing || edges(start, new AskedOfRow(memory.partial.peek, row, time)).nonEmpty) {
      meet(key, memory, row, time, out)
    }

  private def meet(key: InternalRow, memory: Partials, row: InternalRow, time: Long, out: Found): Unit = {
    lazy val taken = new Taken(memory.number, time, rules.kept(row))
    val alive = Partials.queue()
    val complete = Partials.queue()
    memory.partial.iterator.forEachRemaining { partial =>
      val ways = steps(partial, row, time, () => taken)
      val (finals, others) = ways.partition(_.state.isFinal)
      finals.foreach(complete.add)
      if (!others.exists(_.state.isStop)) others.foreach(alive.add)
      if (partial.state eq start) alive.add(partial)
    }
    memory.number += 1
    memory.partial = alive
    release(key, memory, complete, out)
  }

  override def advance(key: InternalRow, memory: Partials, time: Long, out: Found): Unit =
    if (timed && memory.partial.size > 1) {
      val alive = Partials.queue()
      val complete = Partials.queue()
      val over = mutable.LinkedHashMap.empty[Link, Partial]
      memory.partial.iterator.forEachRemaining { partial =>
        if (!partial.started || deadline(partial) > time) alive.add(partial)
        else if (partial.state.isPending) complete.add(partial)
        else over.getOrElseUpdate(partial.last, partial)
      }
      if (alive.size < memory.partial.size) {
        memory.partial = alive
        release(key, memory, complete, out)
        over.values.foreach { partial =>
          out.emit(AutomatonMatcher.Timeouts, rules.timedOut(key, rows(partial), partial.firstTime, deadline(partial)))
        }
      }
    }

  override def finish(key: InternalRow, memory: Partials, out: Found): Unit = {
    memory.partial = empty.partial
    release(key, memory, Partials.queue(), out)
  }

  override def due(memory: Partials): Long = {
    var first = if (memory.complete.isEmpty) Long.MaxValue else Time.End
    memory.partial.iterator.forEachRemaining(p => if (p.started) first = math.min(first, deadline(p)))
    first
  }

  private def deadline(partial: Partial): Long = math.min(
    spec.within.fold(Long.MaxValue)(Time.plus(partial.firstTime, _)),
    spec.between.fold(Long.MaxValue)(Time.plus(partial.lastTime, _)))

  private def rows(partial: Partial): Matched = new LinkedRows(partial.last, spec.steps.size)

  /** Where a partial match can go with a row. */
  private def steps(partial: Partial, row: InternalRow, time: Long, taken: () => Taken): Seq[Partial] = {
    val asked = new AskedOfRow(partial, row, time)
    val ways = mutable.ArrayBuffer.empty[Partial]
    edges(partial.state, asked).foreach { edge =>
      if (edge.action == Action.Ignore) {
        if (partial.state ne start) {
          ways += new Partial(edge.target, partial.last, partial.first, partial.firstTime, partial.lastTime)
        }
      } else {
        val link = new Link(edge.source.step, taken(), partial.last)
        val (first, since) = if (partial.started) (partial.first, partial.firstTime) else (link.taken.number, time)
        ways += new Partial(edge.target, link, first, since, time)
        ending(edge.target, asked).foreach(end => ways += new Partial(end, link, first, since, time))
      }
    }
    ways.toSeq
  }

  /** The edges that take or ignore the row, of the state and of those it proceeds to. */
  private def edges(state: State, asked: Asked): Seq[Edge] = {
    val found = mutable.ArrayBuffer.empty[Edge]
    var open = List(state)
    while (open.nonEmpty) {
      val at = open.head
      open = open.tail
      at.edges.foreach { edge =>
        if (edge.test.passes(asked)) {
          if (edge.action == Action.Proceed) open ::= edge.target else found += edge
        }
      }
    }
    found.toSeq
  }

  /** The final state that a state proceeds to without another row, if any. */
  private def ending(state: State, asked: Asked): Option[State] = {
    var open = List(state)
    while (open.nonEmpty) {
      val at = open.head
      open = open.tail
      at.edges.foreach { edge =>
        if (edge.action == Action.Proceed && edge.test.passes(asked)) {
          if (edge.target.isFinal) return Some(edge.target)
          open ::= edge.target
        }
      }
    }
    None
  }

  private def release(key: InternalRow, memory: Partials, complete: Partials.Queue, out: Found): Unit = {
    memory.complete.addAll(complete)
    while (!memory.complete.isEmpty && !waits(memory)) {
      val found = memory.complete.poll()
      cut(found).foreach { over =>
        prune(memory.partial, over)
        prune(memory.complete, over)
      }
      out.emit(AutomatonMatcher.Main, rules.found(key, rows(found), found.firstTime, found.lastTime))
    }
  }

  private def waits(memory: Partials): Boolean =
    spec.skip != Skip.None && memory.partial.peek != null && memory.complete.peek.first > memory.partial.peek.first

  /** Those that began with a number up to this one are left out after a match. */
  private def cut(found: Partial): Option[Long] = spec.skip match {
    case Skip.None => None
    case Skip.PastLast => Some(found.last.taken.number)
    case Skip.ToNext => Some(found.first)
    case Skip.ToFirst(step) => numbers(found, step).minOption.map(_ - 1)
    case Skip.ToLast(step) => numbers(found, step).maxOption.map(_ - 1)
  }

  private def numbers(found: Partial, step: Int): Seq[Long] =
    Iterator.iterate(found.last)(_.before).takeWhile(_ != null).filter(_.step == step).map(_.taken.number).toVector

  private def prune(queue: Partials.Queue, over: Long): Unit =
    queue.removeIf(_.first <= over)

  private final class AskedOfRow(partial: Partial, row: InternalRow, time: Long) extends Asked {
    private lazy val matched = rows(partial)
    /** 0 for a condition that was not asked yet, 1 for one that holds: several edges ask for the same. */
    private val known = new Array[Byte](spec.conditions.size)

    override def condition(number: Int): Boolean = {
      if (known(number) == 0) known(number) = if (rules.holds(number, row, matched)) 1 else 2
      known(number) == 1
    }
    override def sincePrevious: Long = if (partial.started) time - partial.lastTime else 0L
  }
}

object AutomatonMatcher {
  /** The outputs of a step with a pattern, by number. */
  val Main = 0
  val Timeouts = 1
}
