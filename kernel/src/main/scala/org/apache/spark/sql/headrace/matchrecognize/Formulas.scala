package org.apache.spark.sql.headrace.matchrecognize

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.operators.Aggregates
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String

/** A value of a match that a formula uses. */
sealed trait FormulaValue extends Serializable {
  def dataType: DataType
}

/**
 * An expression over one row: the first or last of some variables, after skipping `skip`, shifted by `shift`
 * rows.
 *
 * @param expression over the input columns, then the row's variable and the match number
 */
final case class RowValue(expression: Expression, of: VariableSet, last: Boolean, skip: Int,
    complete: Boolean, shift: Int, usesVariable: Boolean, usesNumber: Boolean)
    extends FormulaValue {
  override def dataType: DataType = expression.dataType
}

/** An aggregate over the rows of some variables; `slot` is its index among the step's aggregates. */
final case class AggregateValue(aggregates: Aggregates, of: VariableSet, complete: Boolean, slot: Int,
    usesVariable: Boolean, usesNumber: Boolean)
    extends FormulaValue {
  override def dataType: DataType = aggregates.types.head
}

case object MatchNumber extends FormulaValue {
  override def dataType: DataType = org.apache.spark.sql.types.LongType
}

final case class Formula(values: IndexedSeq[FormulaValue], result: Expression, over: Seq[Attribute])
    extends Serializable {
  @transient lazy val bound: Expression = BindReferences.bindReference(result, AttributeSeq(over))
  @transient lazy val predicate: BasePredicate = Predicate.create(result, over)

  def usesNumber: Boolean = values.exists {
    case MatchNumber => true
    case v: RowValue => v.usesNumber
    case v: AggregateValue => v.usesNumber
  }

  /** Number of rows before the match it may reference. */
  def back: Int = values.collect { case v: RowValue => -v.shift }.foldLeft(0)(math.max)
}

/**
 * Evaluates formulas over the rows of a partition. Sets `waits` if a referenced row has not arrived; the
 * result is then invalid.
 *
 * @param names the variable names
 * @param slots the number of aggregates
 */
final class FormulaEvaluator(names: Array[UTF8String], slots: Int) {
  var waits: Boolean = false
  private val extra = new GenericInternalRow(2)
  private val joined = new JoinedRow
  /** Evaluates a condition on the last of the taken rows. */
  def holds(formula: Formula, search: PartitionSearch, taken: RowChain): Boolean = formula.predicate
    .eval(inputs(formula, search, taken, taken))

  /**
   * Evaluates a formula.
   *
   * @param now the rows up to the current one; null if there are none
   * @param whole all rows of the match
   */
  def value(formula: Formula, search: PartitionSearch, now: RowChain, whole: RowChain): Any = formula.bound
    .eval(inputs(formula, search, now, whole))

  private def inputs(
      formula: Formula, search: PartitionSearch, now: RowChain, whole: RowChain): InternalRow = {
    val values = new Array[Any](formula.values.size)
    var i = 0
    while (i < values.length) {
      values(i) = formula.values(i) match {
        case v: RowValue => ofRow(v, search, now, whole)
        case v: AggregateValue => ofRows(v, search, if (v.complete) whole else now)
        case MatchNumber => search.number
      }
      i += 1
    }
    new GenericInternalRow(values)
  }

  private def ofRow(v: RowValue, search: PartitionSearch, now: RowChain, whole: RowChain): Any = {
    val among = if (v.complete) whole else now
    val position = if (v.last) v.of.last(among, v.skip) else v.of.first(among, v.skip)
    if (position < 0) return null
    val at = search.at + position + v.shift
    if (at >= search.count) {
      if (!search.ended) waits = true
      return null
    }
    val row = search.row(at)
    if (row == null) null
    else {
      val variable = if (v.usesVariable) variableName(whole, (at - search.at).toInt) else null
      v.expression.eval(extendRow(row, variable, search.number))
    }
  }

  private def variableName(whole: RowChain, position: Int): UTF8String =
    if (whole == null || position < 0 || position >= whole.size) null
    else names(whole.upTo(position).variable)

  private def extendRow(row: InternalRow, variable: UTF8String, number: Long): InternalRow = {
    extra.update(0, variable)
    extra.update(1, number)
    joined(row, extra)
  }

  private def ofRows(v: AggregateValue, search: PartitionSearch, taken: RowChain): Any = {
    val buffer = if (taken == null) v.aggregates.create() else bufferOf(v, search, taken)
    val result = v.aggregates.result(buffer, InternalRow.empty)
    if (result.isNullAt(0)) null else result.get(0, v.dataType)
  }

  /** The aggregate's buffer over a chain, extended from the longest prefix that has one. */
  private def bufferOf(v: AggregateValue, search: PartitionSearch, taken: RowChain): InternalRow = {
    val missing = mutable.ArrayBuffer.empty[RowChain]
    var at = taken
    while (at != null && (at.buffers == null || at.buffers(v.slot) == null)) {
      missing += at
      at = at.before
    }
    if (missing.isEmpty) return at.buffers(v.slot)
    val known = if (at == null) null else at.buffers(v.slot)
    val buffer =
      if (!missing.exists(t => v.of.has(t.variable)) && known != null) known
      else {
        val own = if (known == null) v.aggregates.create() else v.aggregates.copy(known)
        missing.reverseIterator.filter(t => v.of.has(t.variable)).foreach { t =>
          val row = search.row(search.at + t.size - 1)
          v.aggregates.update(own, extendRow(row, names(t.variable), search.number))
        }
        own
      }
    if (taken.buffers == null) taken.buffers = new Array(slots)
    taken.buffers(v.slot) = buffer
    buffer
  }
}
