package org.apache.spark.sql.headrace.matchrecognize

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

/** Which rows of matches are shown. */
sealed trait RowsPerMatch extends Serializable
case object OneRow extends RowsPerMatch
case object AllRowsShowEmpty extends RowsPerMatch
case object AllRowsOmitEmpty extends RowsPerMatch
case object AllRowsWithUnmatched extends RowsPerMatch

/** Where the search goes on after a match. */
sealed trait AfterMatchSkip extends Serializable
case object SkipPastLastRow extends AfterMatchSkip
case object SkipToNextRow extends AfterMatchSkip
final case class SkipToFirst(of: VariableSet, name: String) extends AfterMatchSkip
final case class SkipToLast(of: VariableSet, name: String) extends AfterMatchSkip

/**
 * A row pattern, ready to run.
 *
 * @param conditions for each variable, its condition, or null: any row
 * @param within how long a match may be, in microseconds: its last row comes less than that after its first
 * @param slots the number of aggregates
 */
final case class RowPattern(
    program: Program,
    variables: IndexedSeq[String],
    conditions: IndexedSeq[Formula],
    measures: IndexedSeq[Formula],
    shown: RowsPerMatch,
    skip: AfterMatchSkip,
    within: Option[Long],
    slots: Int) {

  /** How many rows before the place of the search conditions and measures may look at. */
  @transient lazy val back: Int = (conditions ++ measures).filter(_ != null).map(_.back).foldLeft(0)(math.max)

  @transient lazy val chains: RowChains = new RowChains(observed)
  @transient lazy val names: Array[UTF8String] = variables.map(UTF8String.fromString).toArray

  /** The variables whose rows some condition looks back at: only in those do two ways of matching differ for it. */
  private def observed: Array[Boolean] = {
    val seen = Array.fill(variables.size)(false)
    def see(of: VariableSet, all: Boolean): Unit =
      seen.indices.foreach(i => if (all || (of.of.nonEmpty && of.has(i))) seen(i) = true)
    for ((formula, own) <- conditions.zipWithIndex if formula != null; value <- formula.values) value match {
      case v: RowValue =>
        val itself = v.last && v.skip == 0 && v.of.has(own)
        if (!itself) see(v.of, v.asksVariable)
        else if (v.asksVariable && v.shift != 0) see(v.of, all = true)
      case v: AggregateValue => see(v.of, v.asksVariable)
      case MatchNumber =>
    }
    seen
  }
}

/** Where results go. */
trait ResultSink {
  /** A row of a match, or a whole one; `row` is what its columns are taken from, `measures` is null for an unmatched row. */
  def add(row: InternalRow, measures: Array[Any]): Unit
}

/** One partition's rows that are still needed, and how far the search has come. Mutable. */
final class PartitionSearch extends PartitionRows {
  /** The number of the first row that is kept, and where the next match may begin. */
  var first: Long = 0
  var at: Long = 0
  /** The number of the next match. */
  var number: Long = 1
  /** The number of the row behind the last one that was in a match. */
  var matchedTo: Long = 0
  var ended: Boolean = false
  /** TestFailed row with a time before this will come. */
  var time: Long = Long.MinValue
  val rows: mutable.ArrayDeque[InternalRow] = mutable.ArrayDeque.empty
  val times: mutable.ArrayDeque[Long] = mutable.ArrayDeque.empty
  /** Rows of one time that wait for others of it, and that time; not part of the state, as time moves on before it is kept. */
  val tied: mutable.ArrayBuffer[InternalRow] = mutable.ArrayBuffer.empty
  var tiedAt: Long = Long.MinValue
  /** The attempt at `at`, once it has begun; not part of the state. */
  var attempt: MatchAttempt = _

  override def count: Long = first + rows.size
  override def row(number: Long): InternalRow =
    if (number < first || number >= count) null else rows((number - first).toInt)
  def timeOf(number: Long): Long = times((number - first).toInt)

  def drop(before: Long): Unit = while (first < before && rows.nonEmpty) {
    rows.removeHead()
    times.removeHead()
    first += 1
  }
}

/** One who wants to know which conditions are asked, and what the answers are: the last row of `taken` was tested. */
trait ConditionListener {
  def asked(search: PartitionSearch, start: Long, taken: RowChain, answer: TestResult): Unit
}

object NoListener extends ConditionListener {
  override def asked(search: PartitionSearch, start: Long, taken: RowChain, answer: TestResult): Unit = ()
}

/** Searches partitions for matches: one at a time, each the preferred one from where it begins. */
final class PatternSearcher(pattern: RowPattern, onlooker: ConditionListener = NoListener) {
  private val evaluator = new FormulaEvaluator(pattern.names, pattern.slots)

  /** Goes as far as the rows that are there allow. */
  def search(search: PartitionSearch, out: ResultSink): Unit = {
    while (search.at < search.count && found(search, out)) search.attempt = null
    search.drop(search.at - pattern.back)
  }

  /** The time from which on the match that is open can take no more rows. */
  def due(search: PartitionSearch): Long =
    if (search.at >= search.count) Long.MaxValue
    else pattern.within.fold(Long.MaxValue)(w => search.timeOf(search.at) + w)

  /** Decides what begins at the search's place and moves it on; false if that must wait. */
  private def found(search: PartitionSearch, out: ResultSink): Boolean = decided(search) match {
    case Undecided => false
    case NoMatch =>
      if (pattern.shown == AllRowsWithUnmatched && search.at >= search.matchedTo) out.add(search.row(search.at), null)
      search.at += 1
      true
    case MatchFound(null, _) => empty(search, out)
    case MatchFound(taken, marks) => matched(search, taken, marks, out)
  }

  private def decided(search: PartitionSearch): Verdict = {
    val start = search.at
    if (search.attempt == null) {
      search.attempt = new MatchAttempt(pattern.program, pattern.chains, new RowTester {
        override def holds(taken: RowChain): TestResult = {
          val said = answer(taken)
          onlooker.asked(search, start, taken, said)
          said
        }

        private def answer(taken: RowChain): TestResult = {
          val condition = pattern.conditions(taken.variable)
          if (condition == null) TestPassed
          else {
            evaluator.waits = false
            val holds = evaluator.holds(condition, search, start, search.number, taken)
            if (evaluator.waits) TestDeferred else if (holds) TestPassed else TestFailed
          }
        }
      }, start == 0)
    }
    val attempt = search.attempt
    val limit = pattern.within.map(search.timeOf(start) + _)
    def next: Long = start + attempt.looked
    def takes: Boolean = next < search.count && limit.forall(search.timeOf(next) < _)
    var waits = false
    while (!waits && !attempt.settled && takes) waits = !attempt.take()
    if (waits) Undecided
    else if (attempt.settled) attempt.verdict(MoreRowsPossible)
    else attempt.verdict(
      if (next < search.count) OnlyOtherRows
      else if (search.ended) PartitionEnd
      else if (limit.exists(_ <= search.time)) LimitReached
      else MoreRowsPossible)
  }

  private def empty(search: PartitionSearch, out: ResultSink): Boolean = {
    if (pattern.shown != AllRowsOmitEmpty) {
      val measured = measures(search, null, null)
      out.add(search.row(search.at), measured)
    }
    search.number += 1
    search.at += 1
    true
  }

  private def matched(search: PartitionSearch, taken: RowChain, marks: List[Int], out: ResultSink): Boolean = {
    val start = search.at
    evaluator.waits = false
    val shown = if (pattern.shown == OneRow) Seq(taken) else chain(taken).filterNot(t => left(t.size - 1, marks))
    val results = shown.map(now => (search.row(start + now.size - 1), measures(search, now, taken)))
    if (evaluator.waits) return false
    results.foreach { case (row, measured) => out.add(row, measured) }
    search.matchedTo = math.max(search.matchedTo, start + taken.size)
    search.number += 1
    search.at = next(start, taken)
    true
  }

  private def chain(taken: RowChain): Seq[RowChain] =
    Iterator.iterate(taken)(_.before).takeWhile(_ != null).toVector.reverse

  /** Whether a place lies between two marks, the last of which come first. */
  private def left(place: Int, marks: List[Int]): Boolean = marks match {
    case until :: from :: rest => (place >= from && place < until) || left(place, rest)
    case _ => false
  }

  private def measures(search: PartitionSearch, now: RowChain, whole: RowChain): Array[Any] =
    pattern.measures.map(evaluator.value(_, search, search.at, search.number, now, whole)).toArray

  private def next(start: Long, taken: RowChain): Long = pattern.skip match {
    case SkipPastLastRow => start + taken.size
    case SkipToNextRow => start + 1
    case SkipToFirst(of, name) => to(start, of.first(taken, 0), name)
    case SkipToLast(of, name) => to(start, of.last(taken, 0), name)
  }

  private def to(start: Long, place: Int, name: String): Long = {
    if (place < 0) {
      throw new IllegalStateException(
        s"AFTER MATCH SKIP TO $name: a match has no row of $name; skip to a variable that every match has, or PAST LAST ROW")
    }
    if (place == 0) {
      throw new IllegalStateException(
        s"AFTER MATCH SKIP TO $name: a match begins with $name, so the search would never go on; skip TO NEXT ROW")
    }
    start + place
  }
}
