package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.DataType

/**
 * Any Spark aggregates over rows of `input`, driven one row at a time.
 *
 * A buffer is a mutable row in memory and UnsafeRow bytes in state. Declarative functions run as generated
 * projections, imperative ones through their own buffer, distinct ones over a set of what came in.
 *
 * @param functions the aggregate functions, each with its result attribute
 * @param results what is given out: expressions over the functions' results and the key
 * @param input the columns of a row
 * @param key the key's columns, which results may use
 */
final class Aggregates(
    functions: Seq[AggregateExpression],
    results: Seq[Expression],
    input: Seq[Attribute],
    key: Seq[Attribute]) extends Serializable {

  val types: Seq[DataType] = results.map(_.dataType)

  /** The columns of a buffer. */
  def buffer: Seq[DataType] = layout.toSeq

  /** The same value in two runs whose buffers can be read by each other. */
  def fingerprint: Int = (layout.toSeq.map(_.sql) ++ functions.map(_.aggregateFunction.prettyName)).hashCode

  /** Whether the order of rows makes no difference to any result. */
  def commutative: Boolean = functions.map(_.aggregateFunction).forall {
    case DistinctAggregate(inner, _, _, _) => Aggregates.commutative(inner)
    case f => Aggregates.commutative(f)
  }

  /** The same over other columns, among which are all that are looked at. */
  def over(columns: Seq[Attribute]): Aggregates = new Aggregates(functions, results, columns, key)

  /** The places of the input's columns that are looked at. */
  def columns: Set[Int] = {
    val looked = AttributeSet(functions)
    input.indices.filter(i => looked.contains(input(i))).toSet
  }

  /** Whether a buffer has the same size whatever came in: then its bytes are the buffer, as in Spark's own aggregation. */
  @transient lazy val fixed: Boolean =
    bound.forall(_.isInstanceOf[DeclarativeAggregate]) && layout.forall(UnsafeRow.isMutable)

  @transient private lazy val bound: Seq[AggregateFunction] = {
    val offsets = functions.map(_.aggregateFunction.aggBufferAttributes.size).scanLeft(0)(_ + _)
    functions.map(_.aggregateFunction).zip(offsets).map {
      case (f: ImperativeAggregate, at) =>
        BindReferences.bindReference(f: AggregateFunction, AttributeSeq(input)).asInstanceOf[ImperativeAggregate]
          .withNewMutableAggBufferOffset(at).withNewInputAggBufferOffset(at)
      case (f, _) => f
    }
  }
  @transient private lazy val attributes = bound.flatMap(_.aggBufferAttributes)
  @transient private lazy val layout: Array[DataType] = attributes.map(_.dataType).toArray
  @transient private lazy val starts = bound.map(_.aggBufferAttributes.size).scanLeft(0)(_ + _).toArray
  @transient private lazy val imperative: Array[(ImperativeAggregate, BasePredicate)] =
    bound.zip(functions).collect { case (f: ImperativeAggregate, e) => (f, e.filter.map(predicate).orNull) }.toArray
  @transient private lazy val typed: Array[(TypedImperativeAggregate[AnyRef], Int)] =
    bound.zip(starts).collect {
      case (f: TypedImperativeAggregate[_], at) => (f.asInstanceOf[TypedImperativeAggregate[AnyRef]], at)
    }.toArray
  @transient private lazy val initial = mutable(slots(_.initialValues), Nil)
  @transient private lazy val fold = mutable(
    bound.zip(functions).flatMap {
      case (f: DeclarativeAggregate, e) => filtered(f, e.filter)
      case (f, _) => f.aggBufferAttributes.map(_ => NoOp)
    }, attributes ++ input)
  @transient private lazy val union =
    mutable(slots(_.mergeExpressions), attributes ++ bound.flatMap(_.inputAggBufferAttributes))
  @transient private lazy val evaluate = mutable(bound.map {
    case f: DeclarativeAggregate => f.evaluateExpression
    case _ => NoOp
  }, attributes)
  @transient private lazy val shown = UnsafeProjection.create(
    results.map(_.transform { case e: AggregateExpression => e.resultAttribute }),
    functions.map(_.resultAttribute) ++ key)
  @transient private lazy val packed = UnsafeProjection.create(layout)
  @transient private lazy val joined = new JoinedRow
  @transient private lazy val evaluated = new GenericInternalRow(functions.size)
  @transient private lazy val allDeclarative = imperative.isEmpty
  @transient private lazy val slotTypes = layout.toIndexedSeq
  @transient private lazy val empty = packed(cleared()).copy()
  // With declarative functions alone, results are expressions over the buffer itself.
  @transient private lazy val direct = UnsafeProjection.create(
    results.map(_.transform { case e: AggregateExpression =>
      bound(functions.indexWhere(_.resultId == e.resultId)).asInstanceOf[DeclarativeAggregate].evaluateExpression
    }), attributes ++ key)

  /** A buffer of no rows. */
  def create(): InternalRow = if (fixed) empty.copy() else cleared()

  private def cleared(): InternalRow = {
    val buffer = new SpecificInternalRow(slotTypes)
    initial.target(buffer)(InternalRow.empty)
    imperative.foreach(_._1.initialize(buffer))
    buffer
  }

  /** Takes one row into a buffer. */
  def update(buffer: InternalRow, row: InternalRow): Unit = {
    fold.target(buffer)(joined(buffer, row))
    if (!allDeclarative) imperative.foreach { case (f, filter) =>
      if (filter == null || filter.eval(row)) f.update(buffer, row)
    }
  }

  /** Takes another buffer, as bytes, into a buffer. */
  def merge(buffer: InternalRow, other: Array[Byte]): Unit = {
    val right = unsafe(other)
    union.target(buffer)(joined(buffer, right))
    imperative.foreach(_._1.merge(buffer, right))
  }

  /** The results of a buffer, which stays as it is. */
  def result(buffer: InternalRow, key: InternalRow): UnsafeRow = {
    if (allDeclarative) return direct(joined(buffer, key)).copy()
    evaluate.target(evaluated)(buffer)
    var i = 0
    while (i < bound.size) {
      if (!bound(i).isInstanceOf[DeclarativeAggregate]) evaluated.update(i, bound(i).eval(buffer))
      i += 1
    }
    shown(joined(evaluated, key)).copy()
  }

  /** A buffer with the same content, which goes its own way from here. */
  def copy(buffer: InternalRow): InternalRow = if (fixed) buffer.copy() else read(write(buffer))

  /** A buffer as bytes, which may be the buffer's own: good until it is updated. */
  def write(buffer: InternalRow): Array[Byte] = {
    if (fixed) return buffer.asInstanceOf[UnsafeRow].getBytes
    if (typed.isEmpty) return packed(buffer).getBytes
    val flat = new GenericInternalRow(layout.indices.map(i => buffer.get(i, layout(i)): Any).toArray)
    typed.foreach { case (f, at) => flat.update(at, f.serialize(buffer.get(at, f.aggBufferAttributes.head.dataType))) }
    packed(flat).getBytes
  }

  /** The buffer that bytes hold, which may be updated in place. */
  def read(bytes: Array[Byte]): InternalRow = {
    val from = unsafe(bytes)
    if (fixed) return from
    val buffer = new SpecificInternalRow(slotTypes)
    var i = 0
    while (i < layout.length) {
      if (from.isNullAt(i)) buffer.setNullAt(i) else buffer.update(i, from.get(i, layout(i)))
      i += 1
    }
    typed.foreach { case (f, at) => buffer.update(at, f.deserialize(from.getBinary(at))) }
    buffer
  }

  private def unsafe(bytes: Array[Byte]): UnsafeRow = {
    val row = new UnsafeRow(layout.length)
    row.pointTo(bytes, bytes.length)
    row
  }

  private def slots(of: DeclarativeAggregate => Seq[Expression]): Seq[Expression] = bound.flatMap {
    case f: DeclarativeAggregate => of(f)
    case f => f.aggBufferAttributes.map(_ => NoOp)
  }

  private def filtered(f: DeclarativeAggregate, filter: Option[Expression]): Seq[Expression] = filter match {
    case None => f.updateExpressions
    case Some(keep) => f.updateExpressions.zip(f.aggBufferAttributes).map { case (next, now) => If(keep, next, now) }
  }

  private def mutable(expressions: Seq[Expression], over: Seq[Attribute]): MutableProjection =
    MutableProjection.create(expressions, over)

  private def predicate(filter: Expression): BasePredicate = Predicate.create(filter, input)
}

object Aggregates {
  /** Those of a step: `results` as analysed, over the columns of `input`. */
  def of(results: Seq[Expression], input: Seq[Attribute], key: Seq[Attribute]): Aggregates = {
    val functions = results.flatMap(_.collect { case e: AggregateExpression => DistinctAggregate.lifted(e) }).distinctBy(_.resultId)
    new Aggregates(functions, results, input, key)
  }

  private def commutative(f: AggregateFunction): Boolean = f match {
    case _: Sum | _: Count | _: Average | _: Min | _: Max | _: CentralMomentAgg | _: CollectSet => true
    case _ => false
  }
}
