package org.apache.spark.sql.headrace.rules

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

/**
 * Evaluates the shared conditions of a rule set for a row in generated code. One per task.
 *
 * Results are bits of longs, 16 each: a method that computes more exceeds the JIT's size limit.
 */
final class SharedConditions(set: RuleSet, input: Seq[Attribute]) {
  private val words = set.conditions.grouped(SharedConditions.Bits).map(SharedConditions.word).toIndexedSeq
  private val project = if (words.isEmpty) null else UnsafeProjection.create(words, input)
  private val bits = new Array[Long](words.size)

  def evaluate(row: InternalRow): Unit = if (project != null) {
    val results = project(row)
    var i = 0
    while (i < bits.length) {
      bits(i) = results.getLong(i)
      i += 1
    }
  }

  def holds(condition: Int): Boolean =
    (bits(condition / SharedConditions.Bits) >>> (condition % SharedConditions.Bits) & 1L) != 0

  def all(conditions: Array[Int]): Boolean = {
    var i = 0
    while (i < conditions.length && holds(conditions(i))) i += 1
    i == conditions.length
  }

  def any(conditions: Array[Int]): Boolean = {
    var i = 0
    while (i < conditions.length && !holds(conditions(i))) i += 1
    i < conditions.length
  }

  /** Calls `call` for each condition that holds. */
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

  private def word(conditions: Seq[Expression]): Expression = conditions.zipWithIndex
    .map { case (condition, i) => If(condition, Literal(1L << i), Literal(0L)): Expression }
    .reduce(BitwiseOr(_, _))
}
