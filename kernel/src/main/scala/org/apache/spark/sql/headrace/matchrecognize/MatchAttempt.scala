package org.apache.spark.sql.headrace.matchrecognize

import scala.collection.mutable

/** What is known of an attempt. */
sealed trait Verdict

/** More rows, or the end of them, must come first. */
case object Undecided extends Verdict
case object NoMatch extends Verdict

/**
 * A match: its rows (null if it is empty), and the places between which rows are left out, in pairs.
 */
final case class MatchFound(taken: RowChain, marks: List[Int]) extends Verdict

/** What an attempt asks about rows. */
trait RowTester {
  /** Whether the last row of a chain satisfies the condition of its variable. */
  def holds(taken: RowChain): TestResult
}

sealed trait TestResult
case object TestPassed extends TestResult
case object TestFailed extends TestResult

/** The condition looks at a row that has not come. */
case object TestDeferred extends TestResult

/** What is known of what follows the rows an attempt may take. */
sealed trait Lookahead

/** Another row may come. */
case object MoreRowsPossible extends Lookahead

/** TestFailed row that the match may take; whether the partition ends here is not known. */
case object LimitReached extends Lookahead

/** TestFailed row that the match may take, but others that follow. */
case object OnlyOtherRows extends Lookahead

/** The end of the partition. */
case object PartitionEnd extends Lookahead

/**
 * An attempt to match from one row on. It follows all ways through the program side by side, in the order of preference,
 * one row at a time, and drops a way that conditions can't tell from a preferred one: so the work for each row is
 * bounded by the program, where conditions don't look back.
 *
 * @param atStart whether it begins at the first row of the partition
 */
final class MatchAttempt(program: Program, chains: RowChains, asked: RowTester, atStart: Boolean) {
  private final class Thread(val at: Int, val taken: RowChain, val marks: List[Int])

  private var ways = mutable.ArrayBuffer.empty[Thread]
  private var next = mutable.ArrayBuffer.empty[Thread]
  private val reached = Array.fill(program.size)(List.empty[RowChain])
  private val touched = mutable.ArrayBuffer.empty[Int]
  private var best: Verdict = NoMatch
  private var rows = 0

  follow(new Thread(0, null, Nil), ways)

  /** Rows taken or refused so far. */
  def looked: Int = rows

  /** Takes the next row; false if a condition must wait for a later one, and then nothing has changed. */
  def take(): Boolean = {
    next.clear()
    forget()
    var (found, i) = (best, 0)
    var over = false
    rows += 1
    while (i < ways.size && !over) {
      val way = ways(i)
      program.at(way.at) match {
        case TakeRow(variable) =>
          val taken = chains.add(way.taken, variable)
          asked.holds(taken) match {
            case TestPassed => follow(new Thread(way.at + 1, taken, way.marks), next)
            case TestFailed =>
            case TestDeferred =>
              rows -= 1
              return false
          }
        case MatchEnd =>
          found = MatchFound(way.taken, way.marks)
          over = true // those after it are less preferred
        case _ => // the end of the partition, and here is another row
      }
      i += 1
    }
    best = found
    val done = ways
    ways = next
    next = done
    true
  }

  /** The variables that the next row could be taken for. */
  def awaited: Seq[Int] = ways.toSeq.map(way => program.at(way.at)).collect { case TakeRow(variable) => variable }.distinct

  /** Whether no more row could change the verdict. */
  def settled: Boolean = ways.isEmpty || program.at(ways.head.at) == MatchEnd

  /** The verdict, given what follows the rows that were taken. */
  def verdict(beyond: Lookahead): Verdict = {
    var i = 0
    while (i < ways.size) {
      val way = ways(i)
      program.at(way.at) match {
        case MatchEnd => return MatchFound(way.taken, way.marks)
        case AtEnd => beyond match {
          case PartitionEnd =>
            val found = atEnd(way)
            if (found != NoMatch) return found
          case OnlyOtherRows =>
          case _ => return Undecided
        }
        case _ => if (beyond == MoreRowsPossible) return Undecided
      }
      i += 1
    }
    best
  }

  /** What a way that waited for the end of the partition comes to: the first of its ways on that is through. */
  private def atEnd(way: Thread): Verdict = {
    val rest = mutable.ArrayBuffer.empty[Thread]
    forget()
    follow(new Thread(way.at + 1, way.taken, way.marks), rest, ended = true)
    rest.find(w => program.at(w.at) == MatchEnd).map(w => MatchFound(w.taken, w.marks)).getOrElse(NoMatch)
  }

  /** Follows a way through instructions that take no row, and notes where it and those that part from it must wait. */
  private def follow(from: Thread, into: mutable.ArrayBuffer[Thread], ended: Boolean = false): Unit = {
    val stack = mutable.ArrayDeque(from)
    while (stack.nonEmpty) {
      val way = stack.removeHead()
      if (!reached(way.at).exists(chains.same(_, way.taken))) {
        if (reached(way.at).isEmpty) touched += way.at
        reached(way.at) = way.taken :: reached(way.at)
        program.at(way.at) match {
          case Jump(to) => stack.prepend(new Thread(to, way.taken, way.marks))
          case Split(preferred, other) =>
            stack.prepend(new Thread(other, way.taken, way.marks))
            stack.prepend(new Thread(preferred, way.taken, way.marks))
          case ExclusionMark => stack.prepend(new Thread(way.at + 1, way.taken, rows :: way.marks))
          case AtStart => if (atStart && rows == 0) stack.prepend(new Thread(way.at + 1, way.taken, way.marks))
          case AtEnd if ended => stack.prepend(new Thread(way.at + 1, way.taken, way.marks))
          case _ => into += way
        }
      }
    }
  }

  private def forget(): Unit = {
    touched.foreach(i => reached(i) = Nil)
    touched.clear()
  }
}
