package org.apache.spark.sql.headrace.rules

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

/**
 * What the rules of a set ask of a row, all of it answered at once by generated code. One for each task.
 *
 * SharedConditions are bits of whole numbers, a few in each: a method that computes many is too long for Java's compiler.
 */
final class SharedConditions(set: RuleSet, input: Seq[Attribute]) {
  private val words = set.questions.grouped(SharedConditions.Bits).map(SharedConditions.word).toIndexedSeq
  private val project = if (words.isEmpty) null else UnsafeProjection.create(words, input)
  private val bits = new Array[Long](words.size)

  /** From here on answers are those for this row. */
  def ask(row: InternalRow): Unit = if (project != null) {
    val found = project(row)
    var i = 0
    while (i < bits.length) {
      bits(i) = found.getLong(i)
      i += 1
    }
  }

  def yes(question: Int): Boolean = (bits(question / SharedConditions.Bits) >>> (question % SharedConditions.Bits) & 1L) != 0

  def all(questions: Array[Int]): Boolean = {
    var i = 0
    while (i < questions.length && yes(questions(i))) i += 1
    i == questions.length
  }

  def any(questions: Array[Int]): Boolean = {
    var i = 0
    while (i < questions.length && !yes(questions(i))) i += 1
    i < questions.length
  }

  /** Calls for each question whose answer is yes. */
  def each(call: Int => Unit): Unit = {
    var i = 0
    while (i < bits.length) {
      var left = bits(i)
      while (left != 0) {
        call(i * SharedConditions.Bits + java.lang.Long.numberOfTrailingZeros(left))
        left &= left - 1
      }
      i += 1
    }
  }
}

object SharedConditions {
  private val Bits = 16

  private def word(questions: Seq[Expression]): Expression = questions.zipWithIndex
    .map { case (question, i) => If(question, Literal(1L << i), Literal(0L)): Expression }
    .reduce(BitwiseOr(_, _))
}
