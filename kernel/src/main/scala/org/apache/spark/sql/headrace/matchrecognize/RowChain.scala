package org.apache.spark.sql.headrace.matchrecognize

import org.apache.spark.sql.catalyst.InternalRow

/**
 * The rows that one way of matching has taken, as a chain from the last back to the first: ways that part share what they
 * have in common. Never changes; what aggregates make of it is kept with it.
 *
 * @param variable the variable that the last row was taken for
 * @param before the rows before it, or null
 * @param observed the same for two chains that conditions can't tell apart
 * @param first for each variable, where its first row is, or -1
 */
final class RowChain(val variable: Int, val before: RowChain, val size: Int, val observed: Int, val first: Array[Int]) {
  /** Buffers of aggregates over this chain, each once it has been asked for. */
  var buffers: Array[InternalRow] = _

  /** The chain whose last row is the one at a place. */
  def upTo(place: Int): RowChain = {
    var chain = this
    while (chain.size - 1 > place) chain = chain.before
    chain
  }
}

/** Makes chains; `observed` says of each variable whether a condition can see which rows it has. */
final class RowChains(observed: Array[Boolean]) extends Serializable {
  private val none = Array.fill(observed.length)(-1)

  def add(chain: RowChain, variable: Int): RowChain = {
    val size = if (chain == null) 1 else chain.size + 1
    val firsts = if (chain == null) none else chain.first
    val seen = (if (chain == null) 0 else chain.observed) * 31 + code(variable)
    new RowChain(variable, chain, size, seen, if (firsts(variable) >= 0) firsts else firsts.updated(variable, size - 1))
  }

  /** Whether conditions can't tell two chains of the same size apart. */
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

/** A set of variables; the empty one stands for all. */
final case class VariableSet(of: Set[Int]) {
  private val all = of.isEmpty
  private val member: Array[Boolean] = Array.tabulate(if (all) 0 else of.max + 1)(of.contains)

  def has(variable: Int): Boolean = all || (variable < member.length && member(variable))

  /** The place of the last row of these, `skip` of them passed over; -1 if there is none. */
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

  /** The place of the first row of these, `skip` of them passed over; -1 if there is none. */
  def first(chain: RowChain, skip: Int): Int =
    if (chain == null) -1
    else if (all) { if (skip < chain.size) skip else -1 }
    else if (skip == 0) of.iterator.map(chain.first).filter(_ >= 0).minOption.getOrElse(-1)
    else {
      val places = Iterator.iterate(chain)(_.before).takeWhile(_ != null).filter(c => has(c.variable)).map(_.size - 1).toArray
      if (skip < places.length) places(places.length - 1 - skip) else -1
    }
}
