package org.apache.spark.sql.headrace.matchrecognize

import org.apache.spark.sql.catalyst.InternalRow

/**
 * Rows that a thread has taken, linked from the last to the first; threads share prefixes. Immutable except
 * for cached aggregates.
 *
 * @param variable the variable of the last row
 * @param before the rows before it, or null
 * @param observed hash of what conditions can observe of the chain
 * @param first for each variable, the position of its first row, or -1
 */
final class RowChain(val variable: Int, val before: RowChain, val size: Int, val observed: Int,
    val first: Array[Int]) {
  /** Cached aggregate buffers of this chain. */
  var buffers: Array[InternalRow] = _

  /** The prefix that ends at a position. */
  def upTo(position: Int): RowChain = {
    var chain = this
    while (chain.size - 1 > position) chain = chain.before
    chain
  }
}

/** Creates chains; `observed` is true for variables whose rows a condition can observe. */
final class RowChains(observed: Array[Boolean]) extends Serializable {
  private val none = Array.fill(observed.length)(-1)

  def add(chain: RowChain, variable: Int): RowChain = {
    val size = if (chain == null) 1 else chain.size + 1
    val firsts = if (chain == null) none else chain.first
    val seen = (if (chain == null) 0 else chain.observed) * 31 + code(variable)
    new RowChain(
      variable, chain, size, seen, if (firsts(variable) >= 0) firsts else firsts.updated(variable, size - 1))
  }

  /** True if no condition can distinguish two chains of equal size. */
  def same(a: RowChain, b: RowChain): Boolean = {
    if (a == null || b == null) return a eq b
    if (a.observed != b.observed) return false
    var (x, y) = (a, b)
    while ((x ne y) && x != null) {
      if (code(x.variable) != code(y.variable)) return false
      x = x.before
      y = y.before
    }
    true
  }

  private def code(variable: Int): Int = if (observed(variable)) variable + 1 else 0
}

/** A set of variables; empty means all. */
final case class VariableSet(of: Set[Int]) {
  private val all = of.isEmpty
  private val member: Array[Boolean] = Array.tabulate(if (all) 0 else of.max + 1)(of.contains)
  def has(variable: Int): Boolean = all || (variable < member.length && member(variable))

  /** Position of the last row of these variables after skipping `skip`; -1 for none. */
  def last(chain: RowChain, skip: Int): Int = {
    var (at, left) = (chain, skip)
    while (at != null) {
      if (has(at.variable)) {
        if (left == 0) return at.size - 1
        left -= 1
      }
      at = at.before
    }
    -1
  }

  /** Position of the first row of these variables after skipping `skip`; -1 for none. */
  def first(chain: RowChain, skip: Int): Int =
    if (chain == null) -1
    else if (all) { if (skip < chain.size) skip else -1 }
    else if (skip == 0) of.iterator.map(chain.first).filter(_ >= 0).minOption.getOrElse(-1)
    else {
      val positions = Iterator.iterate(chain)(_.before).takeWhile(_ != null).filter(c => has(c.variable))
        .map(_.size - 1).toArray
      if (skip < positions.length) positions(positions.length - 1 - skip) else -1
    }
}
