/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.rowpatterns

import scala.collection.mutable

/** What is known of an attempt. */
sealed trait Verdict

/** More rows, or the end of them, must come first. */
case object Undecided extends Verdict
case object NoMatch extends Verdict

/**
 * A match: its rows (null if it is empty), and the places between which rows are left out, in pairs.
 */
final case class Matched(taken: Taken, marks: List[Int]) extends Verdict

/** What an attempt asks about rows. */
trait Asked {
  /** Whether the last row of a chain satisfies the condition of its variable. */
  def holds(taken: Taken): Answer
}

sealed trait Answer
case object Yes extends Answer
case object No extends Answer

/** The condition looks at a row that has not come. */
case object Later extends Answer

/** What is known of what follows the rows an attempt may take. */
sealed trait Beyond

/** Another row may come. */
case object Unknown extends Beyond

/** No row that the match may take; whether the partition ends here is not known. */
case object Over extends Beyond

/** No row that the match may take, but others that follow. */
case object Others extends Beyond

/** The end of the partition. */
case object Nothing extends Beyond

/**
 * An attempt to match from one row on. It follows all ways through the program side by side, in the order of preference,
 * one row at a time, and drops a way that conditions can't tell from a preferred one: so the work for each row is
 * bounded by the program, where conditions don't look back.
 *
 * @param atStart whether it begins at the first row of the partition
 */
final class Attempt(program: Program, chains: Chains, asked: Asked, atStart: Boolean) {
  private final class Way(val at: Int, val taken: Taken, val marks: List[Int])

  private var ways = mutable.ArrayBuffer.empty[Way]
  private var next = mutable.ArrayBuffer.empty[Way]
  private val reached = Array.fill(program.size)(List.empty[Taken])
  private val touched = mutable.ArrayBuffer.empty[Int]
  private var best: Verdict = NoMatch
  private var rows = 0

  follow(new Way(0, null, Nil), ways)

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
        case Take(variable) =>
          val taken = chains.add(way.taken, variable)
          asked.holds(taken) match {
            case Yes => follow(new Way(way.at + 1, taken, way.marks), next)
            case No =>
            case Later =>
              rows -= 1
              return false
          }
        case Done =>
          found = Matched(way.taken, way.marks)
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
  def awaited: Seq[Int] = ways.toSeq.map(way => program.at(way.at)).collect { case Take(variable) => variable }.distinct

  /** Whether no more row could change the verdict. */
  def settled: Boolean = ways.isEmpty || program.at(ways.head.at) == Done

  /** The verdict, given what follows the rows that were taken. */
  def verdict(beyond: Beyond): Verdict = {
    var i = 0
    while (i < ways.size) {
      val way = ways(i)
      program.at(way.at) match {
        case Done => return Matched(way.taken, way.marks)
        case AtEnd => beyond match {
          case Nothing =>
            val found = atEnd(way)
            if (found != NoMatch) return found
          case Others =>
          case _ => return Undecided
        }
        case _ => if (beyond == Unknown) return Undecided
      }
      i += 1
    }
    best
  }

  /** What a way that waited for the end of the partition comes to: the first of its ways on that is through. */
  private def atEnd(way: Way): Verdict = {
    val rest = mutable.ArrayBuffer.empty[Way]
    forget()
    follow(new Way(way.at + 1, way.taken, way.marks), rest, ended = true)
    rest.find(w => program.at(w.at) == Done).map(w => Matched(w.taken, w.marks)).getOrElse(NoMatch)
  }

  /** Follows a way through instructions that take no row, and notes where it and those that part from it must wait. */
  private def follow(from: Way, into: mutable.ArrayBuffer[Way], ended: Boolean = false): Unit = {
    val stack = mutable.ArrayDeque(from)
    while (stack.nonEmpty) {
      val way = stack.removeHead()
      if (!reached(way.at).exists(chains.same(_, way.taken))) {
        if (reached(way.at).isEmpty) touched += way.at
        reached(way.at) = way.taken :: reached(way.at)
        program.at(way.at) match {
          case Jump(to) => stack.prepend(new Way(to, way.taken, way.marks))
          case Split(preferred, other) =>
            stack.prepend(new Way(other, way.taken, way.marks))
            stack.prepend(new Way(preferred, way.taken, way.marks))
          case Mark => stack.prepend(new Way(way.at + 1, way.taken, rows :: way.marks))
          case AtStart => if (atStart && rows == 0) stack.prepend(new Way(way.at + 1, way.taken, way.marks))
          case AtEnd if ended => stack.prepend(new Way(way.at + 1, way.taken, way.marks))
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
