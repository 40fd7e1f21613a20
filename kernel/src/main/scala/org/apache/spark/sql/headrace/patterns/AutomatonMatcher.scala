package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.keyed.StepOutput
import org.apache.spark.sql.headrace.operators.Time
import org.apache.spark.sql.headrace.operators.inorder.Matcher

/** The step that an automaton runs for: evaluates conditions and builds results. */
trait MatchContext {
  /** True if a condition holds for a row, given the rows matched so far. */
  def holds(condition: Int, row: InternalRow, matched: MatchedRows): Boolean

  /** Projects a taken row to the columns that are stored. */
  def toStored(row: InternalRow): UnsafeRow

  /** Builds the result of a match that began at `start` and ends at `time`. */
  def matchResult(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow
  def timeoutResult(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow
}

/**
 * Runs the automaton over the rows of a key. Each partial match is tested against each row and may branch.
 *
 * With a skip strategy, a complete match is withheld while an earlier partial match is alive, because that
 * one may exclude it once complete.
 */
final class AutomatonMatcher(spec: PatternSpec, automaton: Automaton, rules: MatchContext, columns: Int)
    extends Matcher {
  type Memory = PartialMatches
  val codec: PartialMatchesCodec = new PartialMatchesCodec(automaton, columns)
  private val start = automaton.start
  private val timed = spec.within.isDefined || spec.between.isDefined
  private val within = spec.within.getOrElse(Long.MaxValue)
  private val between = spec.between.getOrElse(Long.MaxValue)

  // Reused for every row.
  private val context = new RowTestContext
  private val open = mutable.ArrayBuffer.empty[AutomatonEdge]
  private val branches = mutable.ArrayBuffer.empty[PartialMatch]
  private var taken: TakenRow = _
  override def empty: PartialMatches = new PartialMatches(start)
  override def isEmpty(memory: PartialMatches): Boolean = memory.isEmpty
  override def read(in: Input): PartialMatches = codec.read(in)
  override def write(memory: PartialMatches, out: Output): Unit = codec.write(memory, out)

  override def take(
      key: InternalRow, memory: PartialMatches, row: InternalRow, time: Long, out: StepOutput): Unit =
    if (!memory.isEmpty || startsMatch(memory.partial.peek, row, time)) step(key, memory, row, time, out)

  private def startsMatch(nothing: PartialMatch, row: InternalRow, time: Long): Boolean = {
    context.reset(nothing, row, time)
    findEdges(start)
    open.nonEmpty
  }

  private def step(
      key: InternalRow, memory: PartialMatches, row: InternalRow, time: Long, out: StepOutput): Unit = {
    taken = null
    val alive = PartialMatches.queue()
    val complete = PartialMatches.queue()
    val partials = memory.partial.iterator
    while (partials.hasNext) {
      val partial = partials.next()
      findBranches(partial, row, time, memory.number)
      val stopped = branches.exists(branch => branch.state.isStop)
      branches.foreach(branch =>
        if (branch.state.isFinal) complete.add(branch) else if (!stopped) alive.add(branch))
      if (partial.state eq start) alive.add(partial)
    }
    memory.number += 1
    memory.partial = alive
    release(key, memory, complete, out)
  }

  override def advance(key: InternalRow, memory: PartialMatches, time: Long, out: StepOutput): Unit =
    if (timed && memory.partial.size > 1 && earliest(memory) <= time) {
      val alive = PartialMatches.queue()
      val complete = PartialMatches.queue()
      val timedOut = mutable.LinkedHashMap.empty[TakenLink, PartialMatch]
      memory.partial.iterator.forEachRemaining { partial =>
        if (!partial.started || deadline(partial) > time) alive.add(partial)
        else if (partial.state.isPending) complete.add(partial)
        else timedOut.getOrElseUpdate(partial.last, partial)
      }
      // A trailing `not_followed_by` after an optional repetition is satisfied by timeout alone; no further
      // row is needed.
      timedOut.values.toVector.foreach { partial =>
        Option(reachable(StateKind.Pending, partial.state, NoRowContext)).foreach { state =>
          timedOut.remove(partial.last)
          complete
            .add(new PartialMatch(state, partial.last, partial.first, partial.firstTime, partial.lastTime))
        }
      }
      memory.partial = alive
      release(key, memory, complete, out)
      val emitsTimeouts = out.takes(AutomatonMatcher.Timeouts)
      timedOut.values.foreach { partial =>
        out.emit(AutomatonMatcher.Timeouts,
          if (emitsTimeouts) rules.timeoutResult(key, rows(partial), partial.firstTime, deadline(partial))
          else null)
      }
    }

  override def finish(key: InternalRow, memory: PartialMatches, out: StepOutput): Unit = {
    memory.partial = empty.partial
    release(key, memory, PartialMatches.queue(), out)
  }

  override def due(memory: PartialMatches): Long = math
    .min(if (memory.complete.isEmpty) Long.MaxValue else Time.End, earliest(memory))

  private def earliest(memory: PartialMatches): Long = {
    var first = Long.MaxValue
    val partials = memory.partial.iterator
    while (partials.hasNext) {
      val partial = partials.next()
      if (partial.started) first = math.min(first, deadline(partial))
    }
    first
  }

  private def deadline(partial: PartialMatch): Long = math
    .min(if (within == Long.MaxValue) within else Time.plus(partial.firstTime, within),
      if (between == Long.MaxValue) between else Time.plus(partial.lastTime, between))

  private def rows(partial: PartialMatch): MatchedRows = new LinkedRows(partial.last, spec.steps.size)

  /** Sets `branches` to the successors of a partial match for a row, the key's `number`th. */
  private def findBranches(partial: PartialMatch, row: InternalRow, time: Long, number: Long): Unit = {
    context.reset(partial, row, time)
    findEdges(partial.state)
    branches.clear()
    var i = 0
    while (i < open.length) {
      val edge = open(i)
      if (edge.action == EdgeAction.Ignore) {
        if (partial.state ne start) {
          branches +=
            new PartialMatch(edge.target, partial.last, partial.first, partial.firstTime, partial.lastTime)
        }
      } else {
        if (taken == null) taken = new TakenRow(number, time, rules.toStored(row))
        val link = new TakenLink(edge.source.step, taken, partial.last)
        val first = if (partial.started) partial.first else number
        val since = if (partial.started) partial.firstTime else time
        branches += new PartialMatch(edge.target, link, first, since, time)
        val end = reachable(StateKind.Final, edge.target, context)
        if (end != null) branches += new PartialMatch(end, link, first, since, time)
      }
      i += 1
    }
  }

  /** Sets `open` to the edges that take or ignore the row, from the state and those it proceeds to. */
  private def findEdges(state: AutomatonState): Unit = {
    open.clear()
    var at = state
    var next = List.empty[AutomatonState]
    while (at != null) {
      val all = at.edges
      var i = 0
      while (i < all.length) {
        val edge = all(i)
        if (edge.test.passes(context)) {
          if (edge.action == EdgeAction.Proceed) next ::= edge.target else open += edge
        }
        i += 1
      }
      at = next.headOption.orNull
      if (at != null) next = next.tail
    }
  }

  /** Finds a state of a kind that is reachable without another row; null for none. */
  private def reachable(kind: StateKind.Value, from: AutomatonState, context: TestContext): AutomatonState = {
    var i = 0
    while (i < from.edges.length) {
      val edge = from.edges(i)
      if (edge.action == EdgeAction.Proceed && edge.test.passes(context)) {
        val target = if (edge.target.kind == kind) edge.target else reachable(kind, edge.target, context)
        if (target != null) return target
      }
      i += 1
    }
    null
  }

  private def release(key: InternalRow, memory: PartialMatches, complete: PartialMatches.Queue,
      out: StepOutput): Unit = {
    if (!complete.isEmpty) memory.complete.addAll(complete)
    while (!memory.complete.isEmpty && !waits(memory)) {
      val next = memory.complete.poll()
      skipUntil(next).foreach { last =>
        prune(memory.partial, last)
        prune(memory.complete, last)
      }
      out.emit(AutomatonMatcher.Main, rules.matchResult(key, rows(next), next.firstTime, next.lastTime))
    }
  }

  private def waits(memory: PartialMatches): Boolean = spec.skip != SkipStrategy.None &&
    memory.partial.peek != null && memory.complete.peek.first > memory.partial.peek.first

  /** Matches that began at or before this row number are excluded after a match. */
  private def skipUntil(partial: PartialMatch): Option[Long] = spec.skip match {
    case SkipStrategy.None => None
    case SkipStrategy.PastLast => Some(partial.last.taken.number)
    case SkipStrategy.ToNext => Some(partial.first)
    case SkipStrategy.ToFirst(step) => numbers(partial, step).minOption.map(_ - 1)
    case SkipStrategy.ToLast(step) => numbers(partial, step).maxOption.map(_ - 1)
  }

  private def numbers(partial: PartialMatch, step: Int): Seq[Long] = Iterator.iterate(partial.last)(_.before)
    .takeWhile(_ != null).filter(_.step == step).map(_.taken.number).toVector
  private def prune(queue: PartialMatches.Queue, last: Long): Unit = queue.removeIf(_.first <= last)

  /** Without a row no condition holds. */
  private object NoRowContext extends TestContext {
    override def condition(number: Int): Boolean = false
    override def sincePrevious: Long = 0L
  }

  /** Evaluates conditions for one partial match and row. */
  private final class RowTestContext extends TestContext {
    private var partial: PartialMatch = _
    private var row: InternalRow = _
    private var time = 0L
    private var matched: MatchedRows = _

    /** Cached results: 0 unknown, 1 true, 2 false. Several edges share conditions. */
    private val cached = new Array[Byte](spec.conditions.size)

    def reset(partial: PartialMatch, row: InternalRow, time: Long): Unit = {
      this.partial = partial
      this.row = row
      this.time = time
      matched = rows(partial)
      java.util.Arrays.fill(cached, 0.toByte)
    }

    override def condition(number: Int): Boolean = {
      if (cached(number) == 0) cached(number) = if (rules.holds(number, row, matched)) 1 else 2
      cached(number) == 1
    }
    override def sincePrevious: Long = if (partial.started) time - partial.lastTime else 0L
  }
}

object AutomatonMatcher {
  /** Output indexes of a pattern step. */
  val Main = 0
  val Timeouts = 1
}
