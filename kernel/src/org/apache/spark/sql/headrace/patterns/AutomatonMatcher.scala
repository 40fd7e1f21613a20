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
  private val within = spec.within.getOrElse(Long.MaxValue)
  private val between = spec.between.getOrElse(Long.MaxValue)

  // Used again for every row: a partial match that meets a row makes nothing but its ways.
  private val asked = new AskedOfRow
  private val open = mutable.ArrayBuffer.empty[Edge]
  private val ways = mutable.ArrayBuffer.empty[Partial]
  private var taken: Taken = _

  override def empty: Partials = new Partials(start)
  override def isEmpty(memory: Partials): Boolean = memory.nothing
  override def read(in: Input): Partials = codec.read(in)
  override def write(memory: Partials, out: Output): Unit = codec.write(memory, out)

  override def take(key: InternalRow, memory: Partials, row: InternalRow, time: Long, out: Found): Unit =
    if (!memory.nothing || begins(memory.partial.peek, row, time)) meet(key, memory, row, time, out)

  private def begins(nothing: Partial, row: InternalRow, time: Long): Boolean = {
    asked.of(nothing, row, time)
    edges(start)
    open.nonEmpty
  }

  private def meet(key: InternalRow, memory: Partials, row: InternalRow, time: Long, out: Found): Unit = {
    taken = null
    val alive = Partials.queue()
    val complete = Partials.queue()
    val partials = memory.partial.iterator
    while (partials.hasNext) {
      val partial = partials.next()
      steps(partial, row, time, memory.number)
      val stopped = ways.exists(way => way.state.isStop)
      ways.foreach(way => if (way.state.isFinal) complete.add(way) else if (!stopped) alive.add(way))
      if (partial.state eq start) alive.add(partial)
    }
    memory.number += 1
    memory.partial = alive
    release(key, memory, complete, out)
  }

  override def advance(key: InternalRow, memory: Partials, time: Long, out: Found): Unit =
    if (timed && memory.partial.size > 1 && earliest(memory) <= time) {
      val alive = Partials.queue()
      val complete = Partials.queue()
      val over = mutable.LinkedHashMap.empty[Link, Partial]
      memory.partial.iterator.forEachRemaining { partial =>
        if (!partial.started || deadline(partial) > time) alive.add(partial)
        else if (partial.state.isPending) complete.add(partial)
        else over.getOrElseUpdate(partial.last, partial)
      }
      // After a repeat that might have come once more no row need come for what must not come to have stayed away.
      over.values.toVector.foreach { partial =>
        Option(reached(Kind.Pending, partial.state, NoRow)).foreach { state =>
          over.remove(partial.last)
          complete.add(new Partial(state, partial.last, partial.first, partial.firstTime, partial.lastTime))
        }
      }
      memory.partial = alive
      release(key, memory, complete, out)
      val told = out.takes(AutomatonMatcher.Timeouts)
      over.values.foreach { partial =>
        out.emit(
          AutomatonMatcher.Timeouts,
          if (told) rules.timedOut(key, rows(partial), partial.firstTime, deadline(partial)) else null)
      }
    }

  override def finish(key: InternalRow, memory: Partials, out: Found): Unit = {
    memory.partial = empty.partial
    release(key, memory, Partials.queue(), out)
  }

  override def due(memory: Partials): Long =
    math.min(if (memory.complete.isEmpty) Long.MaxValue else Time.End, earliest(memory))

  /** When the first partial match is over. */
  private def earliest(memory: Partials): Long = {
    var first = Long.MaxValue
    val partials = memory.partial.iterator
    while (partials.hasNext) {
      val partial = partials.next()
      if (partial.started) first = math.min(first, deadline(partial))
    }
    first
  }

  private def deadline(partial: Partial): Long = math.min(
    if (within == Long.MaxValue) within else Time.plus(partial.firstTime, within),
    if (between == Long.MaxValue) between else Time.plus(partial.lastTime, between))

  private def rows(partial: Partial): Matched = new LinkedRows(partial.last, spec.steps.size)

  /** Fills `ways`: where a partial match can go with a row, which would be the key's `number`th. */
  private def steps(partial: Partial, row: InternalRow, time: Long, number: Long): Unit = {
    asked.of(partial, row, time)
    edges(partial.state)
    ways.clear()
    var i = 0
    while (i < open.length) {
      val edge = open(i)
      if (edge.action == Action.Ignore) {
        if (partial.state ne start) {
          ways += new Partial(edge.target, partial.last, partial.first, partial.firstTime, partial.lastTime)
        }
      } else {
        if (taken == null) taken = new Taken(number, time, rules.kept(row))
        val link = new Link(edge.source.step, taken, partial.last)
        val first = if (partial.started) partial.first else number
        val since = if (partial.started) partial.firstTime else time
        ways += new Partial(edge.target, link, first, since, time)
        val end = reached(Kind.Final, edge.target, asked)
        if (end != null) ways += new Partial(end, link, first, since, time)
      }
      i += 1
    }
  }

  /** Fills `open`: the edges that take or ignore the row, of the state and of those it proceeds to. */
  private def edges(state: State): Unit = {
    open.clear()
    var at = state
    var next = List.empty[State]
    while (at != null) {
      val all = at.edges
      var i = 0
      while (i < all.length) {
        val edge = all(i)
        if (edge.test.passes(asked)) {
          if (edge.action == Action.Proceed) next ::= edge.target else open += edge
        }
        i += 1
      }
      at = next.headOption.orNull
      if (at != null) next = next.tail
    }
  }

  /** The state of a kind that a state proceeds to without another row; null for none. */
  private def reached(kind: Kind.Value, from: State, asked: Asked): State = {
    var i = 0
    while (i < from.edges.length) {
      val edge = from.edges(i)
      if (edge.action == Action.Proceed && edge.test.passes(asked)) {
        val found = if (edge.target.kind == kind) edge.target else reached(kind, edge.target, asked)
        if (found != null) return found
      }
      i += 1
    }
    null
  }

  private def release(key: InternalRow, memory: Partials, complete: Partials.Queue, out: Found): Unit = {
    if (!complete.isEmpty) memory.complete.addAll(complete)
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

  /** No condition holds of no row. */
  private object NoRow extends Asked {
    override def condition(number: Int): Boolean = false
    override def sincePrevious: Long = 0L
  }

  /** What is asked while a partial match meets a row. */
  private final class AskedOfRow extends Asked {
    private var partial: Partial = _
    private var row: InternalRow = _
    private var time = 0L
    private var matched: Matched = _
    /** 0 for a condition that was not asked yet, 1 for one that holds: several edges ask for the same. */
    private val known = new Array[Byte](spec.conditions.size)

    def of(partial: Partial, row: InternalRow, time: Long): Unit = {
      this.partial = partial
      this.row = row
      this.time = time
      matched = rows(partial)
      java.util.Arrays.fill(known, 0.toByte)
    }

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
