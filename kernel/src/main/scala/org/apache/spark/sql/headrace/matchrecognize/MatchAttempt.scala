package org.apache.spark.sql.headrace.matchrecognize

import scala.collection.mutable

sealed trait Verdict

/** More rows, or the end of input, are required. */
case object Undecided extends Verdict
case object NoMatch extends Verdict

/** A match: its rows (null if empty), and pairs of positions that enclose excluded rows. */
final case class MatchFound(taken: RowChain, marks: List[Int]) extends Verdict

/** Tests rows against variables. */
trait RowTester {
  /** Tests the last row of a chain against its variable's condition. */
  def holds(taken: RowChain): TestResult
}

sealed trait TestResult
case object TestPassed extends TestResult
case object TestFailed extends TestResult

/** The condition references a row that has not arrived. */
case object TestDeferred extends TestResult

/** What follows the rows that an attempt may take. */
sealed trait Lookahead

/** More rows may follow. */
case object MoreRowsPossible extends Lookahead

/** No further row may be taken; the partition may or may not end here. */
case object LimitReached extends Lookahead

/** No further row may be taken, but others follow. */
case object OnlyOtherRows extends Lookahead

case object PartitionEnd extends Lookahead

/**
 * Attempts a match from one row on. Follows all threads of the program in order of preference, one row at a
 * time, and drops a thread that no condition can distinguish from a preferred one, so the work per row is
 * bounded by the program size unless conditions look back.
 *
 * @param atStart true if it starts at the partition's first row
 */
final class MatchAttempt(program: Program, chains: RowChains, tester: RowTester, atStart: Boolean) {
  private final class MatchThread(val at: Int, val taken: RowChain, val marks: List[Int])

  private var threads = mutable.ArrayBuffer.empty[MatchThread]
  private var next = mutable.ArrayBuffer.empty[MatchThread]
  private val reached = Array.fill(program.size)(List.empty[RowChain])
  private val touched = mutable.ArrayBuffer.empty[Int]
  private var best: Verdict = NoMatch
  private var rows = 0

  follow(new MatchThread(0, null, Nil), threads)

  /** Number of rows tested so far. */
  def rowsTested: Int = rows

  /** Tests the next row; false, without effect, if a condition needs a later row. */
  def take(): Boolean = {
    next.clear()
    clearReached()
    var (verdict, i) = (best, 0)
    var over = false
    rows += 1
    while (i < threads.size && !over) {
      val thread = threads(i)
      program.at(thread.at) match {
        case TakeRow(variable) =>
          val taken = chains.add(thread.taken, variable)
          tester.holds(taken) match {
            case TestPassed => follow(new MatchThread(thread.at + 1, taken, thread.marks), next)
            case TestFailed =>
            case TestDeferred =>
              rows -= 1
              return false
          }
        case MatchEnd =>
          verdict = MatchFound(thread.taken, thread.marks)
          over = true // later threads are less preferred
        case _ => // a row follows, so this is not the partition's end
      }
      i += 1
    }
    best = verdict
    val done = threads
    threads = next
    next = done
    true
  }

  /** Variables that the next row could match. */
  def awaited: Seq[Int] = threads.toSeq.map(thread => program.at(thread.at))
    .collect { case TakeRow(variable) => variable }.distinct

  /** True if no further row can change the verdict. */
  def isDecided: Boolean = threads.isEmpty || program.at(threads.head.at) == MatchEnd

  /** The verdict, given what follows the tested rows. */
  def verdict(lookahead: Lookahead): Verdict = {
    var i = 0
    while (i < threads.size) {
      val thread = threads(i)
      program.at(thread.at) match {
        case MatchEnd => return MatchFound(thread.taken, thread.marks)
        case AtEnd => lookahead match {
            case PartitionEnd =>
              val verdict = atEnd(thread)
              if (verdict != NoMatch) return verdict
            case OnlyOtherRows =>
            case _ => return Undecided
          }
        case _ => if (lookahead == MoreRowsPossible) return Undecided
      }
      i += 1
    }
    best
  }

  /** Resolves a thread that waits for the partition's end. */
  private def atEnd(thread: MatchThread): Verdict = {
    val rest = mutable.ArrayBuffer.empty[MatchThread]
    clearReached()
    follow(new MatchThread(thread.at + 1, thread.taken, thread.marks), rest, ended = true)
    rest.find(w => program.at(w.at) == MatchEnd).map(w => MatchFound(w.taken, w.marks)).getOrElse(NoMatch)
  }

  /** Follows a thread through instructions that take no row, and collects where its branches wait. */
  private def follow(
      from: MatchThread, into: mutable.ArrayBuffer[MatchThread], ended: Boolean = false): Unit = {
    val stack = mutable.ArrayDeque(from)
    while (stack.nonEmpty) {
      val thread = stack.removeHead()
      if (!reached(thread.at).exists(chains.same(_, thread.taken))) {
        if (reached(thread.at).isEmpty) touched += thread.at
        reached(thread.at) = thread.taken :: reached(thread.at)
        program.at(thread.at) match {
          case Jump(to) => stack.prepend(new MatchThread(to, thread.taken, thread.marks))
          case Split(preferred, other) =>
            stack.prepend(new MatchThread(other, thread.taken, thread.marks))
            stack.prepend(new MatchThread(preferred, thread.taken, thread.marks))
          case ExclusionMark => stack
              .prepend(new MatchThread(thread.at + 1, thread.taken, rows :: thread.marks))
          case AtStart => if (atStart && rows == 0) stack
              .prepend(new MatchThread(thread.at + 1, thread.taken, thread.marks))
          case AtEnd if ended => stack.prepend(new MatchThread(thread.at + 1, thread.taken, thread.marks))
          case _ => into += thread
        }
      }
    }
  }

  private def clearReached(): Unit = {
    touched.foreach(i => reached(i) = Nil)
    touched.clear()
  }
}
