package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.Time
import org.apache.spark.sql.headrace.operators.inorder.{MatchOutput, Matcher}

/** What the automaton asks of the step around it: its conditions, and how its results look. */
trait MatchContext {
  /** Whether a condition holds for a row, given the rows matched so far. */
  def holds(condition: Int, row: InternalRow, matched: MatchedRows): Boolean

  /** What is kept of a row that is taken. */
  def kept(row: InternalRow): UnsafeRow

  /** What a match gives, which began at `start` and whose own time is `time`. */
  def found(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow
  def timedOut(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow
}

/**
 * Runs the automaton over the rows of a key: every partial match meets every row, and may go several ways with it.
 *
 * With a skip, a complete match waits while a partial match that began earlier is alive, because that one, once
 * complete, may leave it out.
 */
final class AutomatonMatcher(spec: PatternSpec, automaton: Automaton, rules: MatchContext, columns: Int) extends Matcher {
  type Memory = PartialMatches
  val codec: PartialMatchesCodec = new PartialMatchesCodec(automaton, columns)
  private val start = automaton.start
  private val timed = spec.within.isDefined || spec.between.isDefined
  private val within = spec.within.getOrElse(Long.MaxValue)
  private val between = spec.between.getOrElse(Long.MaxValue)

  // Used again for every row: a partial match that meets a row makes nothing but its ways.
  private val asked = new RowTestContext
  private val open = mutable.ArrayBuffer.empty[AutomatonEdge]
  private val ways = mutable.ArrayBuffer.empty[PartialMatch]
  private var taken: TakenRow = _

  override def empty: PartialMatches = new PartialMatches(start)
  override def isEmpty(memory: PartialMatches): Boolean = memory.nothing
  override def read(in: Input): PartialMatches = codec.read(in)
  override def write(memory: PartialMatches, out: Output): Unit = codec.write(memory, out)

  override def take(key: InternalRow, memory: PartialMatches, row: InternalRow, time: Long, out: MatchOutput): Unit =
    if (!memory.nothing || begins(memory.partial.peek, row, time)) meet(key, memory, row, time, out)

  private def begins(nothing: PartialMatch, row: InternalRow, time: Long): Boolean = {
    asked.of(nothing, row, time)
    edges(start)
    open.nonEmpty
  }

  private def meet(key: InternalRow, memory: PartialMatches, row: InternalRow, time: Long, out: MatchOutput): Unit = {
    taken = null
    val alive = PartialMatches.queue()
    val complete = PartialMatches.queue()
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

  override def advance(key: InternalRow, memory: PartialMatches, time: Long, out: MatchOutput): Unit =
    if (timed && memory.partial.size > 1 && earliest(memory) <= time) {
      val alive = PartialMatches.queue()
      val complete = PartialMatches.queue()
      val over = mutable.LinkedHashMap.empty[TakenLink, PartialMatch]
      memory.partial.iterator.forEachRemaining { partial =>
        if (!partial.started || deadline(partial) > time) alive.add(partial)
        else if (partial.state.isPending) complete.add(partial)
        else over.getOrElseUpdate(partial.last, partial)
      }
      // After a repeat that might have come once more no row need come for what must not come to have stayed away.
      over.values.toVector.foreach { partial =>
        Option(reached(StateKind.Pending, partial.state, NoRowContext)).foreach { state =>
          over.remove(partial.last)
          complete.add(new PartialMatch(state, partial.last, partial.first, partial.firstTime, partial.lastTime))
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

  override def finish(key: InternalRow, memory: PartialMatches, out: MatchOutput): Unit = {
    memory.partial = empty.partial
    release(key, memory, PartialMatches.queue(), out)
  }

  override def due(memory: PartialMatches): Long =
    math.min(if (memory.complete.isEmpty) Long.MaxValue else Time.End, earliest(memory))

  /** When the first partial match is over. */
  private def earliest(memory: PartialMatches): Long = {
    var first = Long.MaxValue
    val partials = memory.partial.iterator
    while (partials.hasNext) {
      val partial = partials.next()
      if (partial.started) first = math.min(first, deadline(partial))
    }
    first
  }

  private def deadline(partial: PartialMatch): Long = math.min(
    if (within == Long.MaxValue) within else Time.plus(partial.firstTime, within),
    if (between == Long.MaxValue) between else Time.plus(partial.lastTime, between))

  private def rows(partial: PartialMatch): MatchedRows = new LinkedRows(partial.last, spec.steps.size)

  /** Fills `ways`: where a partial match can go with a row, which would be the key's `number`th. */
  private def steps(partial: PartialMatch, row: InternalRow, time: Long, number: Long): Unit = {
    asked.of(partial, row, time)
    edges(partial.state)
    ways.clear()
    var i = 0
    while (i < open.length) {
      val edge = open(i)
      if (edge.action == EdgeAction.Ignore) {
        if (partial.state ne start) {
          ways += new PartialMatch(edge.target, partial.last, partial.first, partial.firstTime, partial.lastTime)
        }
      } else {
        if (taken == null) taken = new TakenRow(number, time, rules.kept(row))
        val link = new TakenLink(edge.source.step, taken, partial.last)
        val first = if (partial.started) partial.first else number
        val since = if (partial.started) partial.firstTime else time
        ways += new PartialMatch(edge.target, link, first, since, time)
        val end = reached(StateKind.Final, edge.target, asked)
        if (end != null) ways += new PartialMatch(end, link, first, since, time)
      }
      i += 1
    }
  }

  /** Fills `open`: the edges that take or ignore the row, of the state and of those it proceeds to. */
  private def edges(state: AutomatonState): Unit = {
    open.clear()
    var at = state
    var next = List.empty[AutomatonState]
    while (at != null) {
      val all = at.edges
      var i = 0
      while (i < all.length) {
        val edge = all(i)
        if (edge.test.passes(asked)) {
          if (edge.action == EdgeAction.Proceed) next ::= edge.target else open += edge
        }
        i += 1
      }
      at = next.headOption.orNull
      if (at != null) next = next.tail
    }
  }

  /** The state of a kind that a state proceeds to without another row; null for none. */
  private def reached(kind: StateKind.Value, from: AutomatonState, asked: TestContext): AutomatonState = {
    var i = 0
    while (i < from.edges.length) {
      val edge = from.edges(i)
      if (edge.action == EdgeAction.Proceed && edge.test.passes(asked)) {
        val found = if (edge.target.kind == kind) edge.target else reached(kind, edge.target, asked)
        if (found != null) return found
      }
      i += 1
    }
    null
  }

  private def release(key: InternalRow, memory: PartialMatches, complete: PartialMatches.Queue, out: MatchOutput): Unit = {
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

  private def waits(memory: PartialMatches): Boolean =
    spec.skip != SkipStrategy.None && memory.partial.peek != null && memory.complete.peek.first > memory.partial.peek.first

  /** Those that began with a number up to this one are left out after a match. */
  private def cut(found: PartialMatch): Option[Long] = spec.skip match {
    case SkipStrategy.None => None
    case SkipStrategy.PastLast => Some(found.last.taken.number)
    case SkipStrategy.ToNext => Some(found.first)
    case SkipStrategy.ToFirst(step) => numbers(found, step).minOption.map(_ - 1)
    case SkipStrategy.ToLast(step) => numbers(found, step).maxOption.map(_ - 1)
  }

  private def numbers(found: PartialMatch, step: Int): Seq[Long] =
    Iterator.iterate(found.last)(_.before).takeWhile(_ != null).filter(_.step == step).map(_.taken.number).toVector

  private def prune(queue: PartialMatches.Queue, over: Long): Unit =
    queue.removeIf(_.first <= over)

  /** No condition holds of no row. */
  private object NoRowContext extends TestContext {
    override def condition(number: Int): Boolean = false
    override def sincePrevious: Long = 0L
  }

  /** What is asked while a partial match meets a row. */
  private final class RowTestContext extends TestContext {
    private var partial: PartialMatch = _
    private var row: InternalRow = _
    private var time = 0L
    private var matched: MatchedRows = _
    /** 0 for a condition that was not asked yet, 1 for one that holds: several edges ask for the same. */
    private val known = new Array[Byte](spec.conditions.size)

    def of(partial: PartialMatch, row: InternalRow, time: Long): Unit = {
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
