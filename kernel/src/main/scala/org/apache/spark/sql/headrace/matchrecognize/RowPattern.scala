package org.apache.spark.sql.headrace.matchrecognize

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

sealed trait RowsPerMatch extends Serializable
case object OneRow extends RowsPerMatch
case object AllRowsShowEmpty extends RowsPerMatch
case object AllRowsOmitEmpty extends RowsPerMatch
case object AllRowsWithUnmatched extends RowsPerMatch

/** Where the search continues after a match. */
sealed trait AfterMatchSkip extends Serializable
case object SkipPastLastRow extends AfterMatchSkip
case object SkipToNextRow extends AfterMatchSkip
final case class SkipToFirst(of: VariableSet, name: String) extends AfterMatchSkip
final case class SkipToLast(of: VariableSet, name: String) extends AfterMatchSkip

/**
 * A row pattern.
 *
 * @param conditions for each variable its condition; null: any row
 * @param within the maximum time between a match's first and last row in microseconds, exclusive
 * @param slots the number of aggregates
 */
final case class RowPattern(program: Program, variables: IndexedSeq[String], conditions: IndexedSeq[Formula],
    measures: IndexedSeq[Formula], shown: RowsPerMatch, skip: AfterMatchSkip, within: Option[Long],
    slots: Int) {
  /** Number of rows before the search position that formulas may reference. */
  @transient lazy val back: Int = (conditions ++ measures).filter(_ != null).map(_.back).foldLeft(0)(math.max)
  @transient lazy val chains: RowChains = new RowChains(observed)
  @transient lazy val names: Array[UTF8String] = variables.map(UTF8String.fromString).toArray

  /** Variables whose rows some condition looks back at; other variables do not distinguish threads. */
  private def observed: Array[Boolean] = {
    val observedVariables = Array.fill(variables.size)(false)
    def observe(of: VariableSet, all: Boolean): Unit = observedVariables.indices
      .foreach(i => if (all || (of.of.nonEmpty && of.has(i))) observedVariables(i) = true)
    for ((formula, own) <- conditions.zipWithIndex if formula != null; value <- formula.values) value match {
      case v: RowValue =>
        val itself = v.last && v.skip == 0 && v.of.has(own)
        if (!itself) observe(v.of, v.usesVariable)
        else if (v.usesVariable && v.shift != 0) observe(v.of, all = true)
      case v: AggregateValue => observe(v.of, v.usesVariable)
      case MatchNumber =>
    }
    observedVariables
  }
}

/** Rows of one partition that are still needed, and the search position. Mutable. */
final class PartitionSearch {
  /** Number of the first stored row, and of the row where the next match may begin. */
  var first: Long = 0
  var at: Long = 0

  var number: Long = 1

  /** Number of the row after the last matched one. */
  var matchedTo: Long = 0
  var ended: Boolean = false

  /** No earlier row will arrive. */
  var time: Long = Long.MinValue
  val rows: mutable.ArrayDeque[InternalRow] = mutable.ArrayDeque.empty
  val times: mutable.ArrayDeque[Long] = mutable.ArrayDeque.empty

  /** Rows of equal time, and that time. Not stored: time advances before the state is written. */
  val tied: mutable.ArrayBuffer[InternalRow] = mutable.ArrayBuffer.empty
  var tiedAt: Long = Long.MinValue

  /** The attempt at `at`, if started; not stored. */
  var attempt: MatchAttempt = _

  /** Number of rows so far. */
  def count: Long = first + rows.size

  /** The row, or null outside the stored range. */
  def row(number: Long): InternalRow =
    if (number < first || number >= count) null else rows((number - first).toInt)
  def timeOf(number: Long): Long = times((number - first).toInt)

  def drop(before: Long): Unit = while (first < before && rows.nonEmpty) {
    rows.removeHead()
    times.removeHead()
    first += 1
  }
}

/**
 * Searches partitions for matches, one at a time, each the preferred one at its position.
 *
 * @param onTest called for each condition test of the attempt at the search position, with the taken rows up
 *   to the one that is tested
 */
final class PatternSearcher(pattern: RowPattern, onTest: PatternSearcher.TestListener) {
  import PatternSearcher.ResultSink
  private val evaluator = new FormulaEvaluator(pattern.names, pattern.slots)

  /** Searches as far as the available rows allow. */
  def search(search: PartitionSearch, out: ResultSink): Unit = {
    while (search.at < search.count && searchOnce(search, out)) search.attempt = null
    search.drop(search.at - pattern.back)
  }

  /** Time from which the open match can take no more rows. */
  def due(search: PartitionSearch): Long =
    if (search.at >= search.count) Long.MaxValue
    else pattern.within.fold(Long.MaxValue)(w => search.timeOf(search.at) + w)

  /** Decides on a match at the search position and advances it; false if it must wait. */
  private def searchOnce(search: PartitionSearch, out: ResultSink): Boolean = decide(search) match {
    case Undecided => false
    case NoMatch =>
      if (pattern.shown == AllRowsWithUnmatched && search.at >= search.matchedTo)
        out(search.row(search.at), null)
      search.at += 1
      true
    case MatchFound(null, _) => emitEmpty(search, out)
    case MatchFound(taken, marks) => emitMatch(search, taken, marks, out)
  }

  private def decide(search: PartitionSearch): Verdict = {
    val start = search.at
    if (search.attempt == null) {
      search.attempt = new MatchAttempt(
        pattern.program, pattern.chains,
        new RowTester {
          override def holds(taken: RowChain): TestResult = {
            val result = answer(taken)
            onTest(search, taken, result)
            result
          }

          private def answer(taken: RowChain): TestResult = {
            val condition = pattern.conditions(taken.variable)
            if (condition == null) TestPassed
            else {
              evaluator.waits = false
              val holds = evaluator.holds(condition, search, taken)
              if (evaluator.waits) TestDeferred else if (holds) TestPassed else TestFailed
            }
          }
        }, start == 0)
    }
    val attempt = search.attempt
    val limit = pattern.within.map(search.timeOf(start) + _)
    def next: Long = start + attempt.rowsTested
    def takes: Boolean = next < search.count && limit.forall(search.timeOf(next) < _)
    var waits = false
    while (!waits && !attempt.isDecided && takes) waits = !attempt.take()
    if (waits) Undecided
    else if (attempt.isDecided) attempt.verdict(MoreRowsPossible)
    else attempt.verdict(if (next < search.count) OnlyOtherRows
      else if (search.ended) PartitionEnd
      else if (limit.exists(_ <= search.time)) LimitReached
      else MoreRowsPossible)
  }

  private def emitEmpty(search: PartitionSearch, out: ResultSink): Boolean = {
    if (pattern.shown != AllRowsOmitEmpty) {
      val measured = measures(search, null, null)
      out(search.row(search.at), measured)
    }
    search.number += 1
    search.at += 1
    true
  }

  private def emitMatch(
      search: PartitionSearch, taken: RowChain, marks: List[Int], out: ResultSink): Boolean = {
    val start = search.at
    evaluator.waits = false
    val shown =
      if (pattern.shown == OneRow) Seq(taken) else chain(taken).filterNot(t => isExcluded(t.size - 1, marks))
    val results = shown.map(now => (search.row(start + now.size - 1), measures(search, now, taken)))
    if (evaluator.waits) return false
    results.foreach { case (row, measured) => out(row, measured) }
    search.matchedTo = math.max(search.matchedTo, start + taken.size)
    search.number += 1
    search.at = next(start, taken)
    true
  }

  private def chain(taken: RowChain): Seq[RowChain] = Iterator.iterate(taken)(_.before).takeWhile(_ != null)
    .toVector.reverse

  /** True if a position lies between two marks; marks are in reverse order. */
  private def isExcluded(position: Int, marks: List[Int]): Boolean = marks match {
    case until :: from :: rest => (position >= from && position < until) || isExcluded(position, rest)
    case _ => false
  }

  private def measures(search: PartitionSearch, now: RowChain, whole: RowChain): Array[Any] = pattern.measures
    .map(evaluator.value(_, search, now, whole)).toArray

  private def next(start: Long, taken: RowChain): Long = pattern.skip match {
    case SkipPastLastRow => start + taken.size
    case SkipToNextRow => start + 1
    case SkipToFirst(of, name) => to(start, of.first(taken, 0), name)
    case SkipToLast(of, name) => to(start, of.last(taken, 0), name)
  }

  private def to(start: Long, position: Int, name: String): Long = {
    if (position < 0) {
      throw new IllegalStateException(s"AFTER MATCH SKIP TO $name: a match has no row of $name; " +
        "skip to a variable that every match has, or PAST LAST ROW")
    }
    if (position == 0) {
      throw new IllegalStateException(s"AFTER MATCH SKIP TO $name: a match begins with $name, " +
        "so the search would never go on; skip TO NEXT ROW")
    }
    start + position
  }
}

object PatternSearcher {
  type TestListener = (PartitionSearch, RowChain, TestResult) => Unit

  /** Receives an input row and its measures, which are null if the row is unmatched. */
  type ResultSink = (InternalRow, Array[Any]) => Unit
}
