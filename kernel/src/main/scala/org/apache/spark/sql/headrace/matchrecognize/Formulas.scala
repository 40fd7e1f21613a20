package org.apache.spark.sql.headrace.matchrecognize

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.operators.Aggregates
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String

/** The rows of one partition by their number, and what is known of those to come. */
trait PartitionRows {
  /** The row, or null if it is before the first or behind the last. */
  def row(number: Long): InternalRow

  /** The number of rows so far. */
  def count: Long
  def ended: Boolean
}

/** What an expression asks of a match. */
sealed trait FormulaValue extends Serializable {
  def dataType: DataType
}

/**
 * An expression on one row: the first or last of some variables, `skip` of them passed over, then `shift` rows on.
 *
 * @param expression over the input's columns and, behind them, the row's variable and the number of the match
 */
final case class RowValue(
    expression: Expression, of: VariableSet, last: Boolean, skip: Int, complete: Boolean, shift: Int,
    asksVariable: Boolean, asksNumber: Boolean) extends FormulaValue {
  override def dataType: DataType = expression.dataType
}

/** An aggregate over rows of some variables; `slot` is its place among all aggregates of the step. */
final case class AggregateValue(
    aggregates: Aggregates, of: VariableSet, complete: Boolean, slot: Int, asksVariable: Boolean, asksNumber: Boolean)
    extends FormulaValue {
  override def dataType: DataType = aggregates.types.head
}

/** The number of the match. */
case object MatchNumber extends FormulaValue {
  override def dataType: DataType = org.apache.spark.sql.types.LongType
}

/** An expression over values. */
final case class Formula(values: IndexedSeq[FormulaValue], result: Expression, over: Seq[Attribute]) extends Serializable {
  @transient lazy val bound: Expression = BindReferences.bindReference(result, AttributeSeq(over))
  @transient lazy val predicate: BasePredicate = Predicate.create(result, over)

  def asksNumber: Boolean = values.exists {
    case MatchNumber => true
    case v: RowValue => v.asksNumber
    case v: AggregateValue => v.asksNumber
  }

  /** How many rows before the match it may look at. */
  def back: Int = values.collect { case v: RowValue => -v.shift }.foldLeft(0)(math.max)
}

/**
 * Computes formulas on the rows of one partition. A value of a row that has not come makes `waits` true; what was
 * computed then is worth nothing.
 *
 * @param names the variables' names
 * @param slots the number of aggregates
 */
final class FormulaEvaluator(names: Array[UTF8String], slots: Int) {
  var waits: Boolean = false
  private val extra = new GenericInternalRow(2)
  private val joined = new JoinedRow

  def holds(formula: Formula, partition: PartitionRows, start: Long, number: Long, taken: RowChain): Boolean =
    formula.predicate.eval(inputs(formula, partition, start, number, taken, taken))

  /**
   * The value of a formula.
   *
   * @param start the number of the match's first row
   * @param now the rows up to the current one, null if there are none
   * @param whole all rows of the match
   */
  def value(formula: Formula, partition: PartitionRows, start: Long, number: Long, now: RowChain, whole: RowChain): Any =
    formula.bound.eval(inputs(formula, partition, start, number, now, whole))

  private def inputs(
      formula: Formula, partition: PartitionRows, start: Long, number: Long, now: RowChain, whole: RowChain): InternalRow = {
    val values = new Array[Any](formula.values.size)
    var i = 0
    while (i < values.length) {
      values(i) = formula.values(i) match {
        case v: RowValue => ofRow(v, partition, start, number, now, whole)
        case v: AggregateValue => ofRows(v, partition, start, number, if (v.complete) whole else now)
        case MatchNumber => number
      }
      i += 1
    }
    new GenericInternalRow(values)
  }

  private def ofRow(v: RowValue, partition: PartitionRows, start: Long, number: Long, now: RowChain, whole: RowChain): Any = {
    val among = if (v.complete) whole else now
    val place = if (v.last) v.of.last(among, v.skip) else v.of.first(among, v.skip)
    if (place < 0) return null
    val at = start + place + v.shift
    if (at >= partition.count) {
      if (!partition.ended) waits = true
      return null
    }
    val row = if (at < 0) null else partition.row(at)
    if (row == null) null
    else v.expression.eval(extended(row, if (v.asksVariable) named(whole, (at - start).toInt) else null, number))
  }

  /** The name of the variable that the row at a place of the match was taken for. */
  private def named(whole: RowChain, place: Int): UTF8String =
    if (whole == null || place < 0 || place >= whole.size) null else names(whole.upTo(place).variable)

  private def extended(row: InternalRow, variable: UTF8String, number: Long): InternalRow = {
    extra.update(0, variable)
    extra.update(1, number)
    joined(row, extra)
  }

  private def ofRows(v: AggregateValue, partition: PartitionRows, start: Long, number: Long, taken: RowChain): Any = {
    val buffer = if (taken == null) v.aggregates.create() else buffered(v, partition, start, number, taken)
    val result = v.aggregates.result(buffer, InternalRow.empty)
    if (result.isNullAt(0)) null else result.get(0, v.dataType)
  }

  /** The aggregate's buffer over a chain, made from that of the longest part that has one. */
  private def buffered(v: AggregateValue, partition: PartitionRows, start: Long, number: Long, taken: RowChain): InternalRow = {
    val todo = mutable.ArrayBuffer.empty[RowChain]
    var at = taken
    while (at != null && (at.buffers == null || at.buffers(v.slot) == null)) {
      todo += at
      at = at.before
    }
    if (todo.isEmpty) return at.buffers(v.slot)
    val known = if (at == null) null else at.buffers(v.slot)
    val buffer = if (!todo.exists(t => v.of.has(t.variable)) && known != null) known else {
      val own = if (known == null) v.aggregates.create() else v.aggregates.copy(known)
      todo.reverseIterator.filter(t => v.of.has(t.variable)).foreach { t =>
        v.aggregates.update(own, extended(partition.row(start + t.size - 1), names(t.variable), number))
      }
      own
    }
    if (taken.buffers == null) taken.buffers = new Array(slots)
    taken.buffers(v.slot) = buffer
    buffer
  }
}
