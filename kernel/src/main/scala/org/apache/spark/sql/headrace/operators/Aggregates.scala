package org.apache.spark.sql.headrace.operators

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.DataType

/**
 * Spark aggregate functions over rows of `input`, applied one row at a time.
 *
 * A buffer is a mutable row in memory and `UnsafeRow` bytes in state. Declarative functions run as generated
 * projections, imperative ones through their own buffer.
 *
 * @param functions the aggregate functions, each with its result attribute
 * @param results the output expressions, over the function results and the key
 * @param input the columns of a row
 * @param key the key columns, which results may reference
 */
final class Aggregates(functions: Seq[AggregateExpression], results: Seq[Expression], input: Seq[Attribute],
    key: Seq[Attribute])
    extends Serializable {
  val types: Seq[DataType] = results.map(_.dataType)

  def buffer: Seq[DataType] = layout.toSeq

  /** Equal in two runs if their buffers are binary compatible. */
  def fingerprint: Int = (layout.toSeq.map(_.sql) ++ functions.map(_.aggregateFunction.prettyName)).hashCode

  /** True if no result depends on the order of rows. */
  def commutative: Boolean = functions.map(_.aggregateFunction).forall {
    case DistinctAggregate(inner, _, _, _) => Aggregates.commutative(inner)
    case ReplayedValues(inner, _, _, _, _) => Aggregates.commutative(inner)
    case f => Aggregates.commutative(f)
  }

  /** Returns these aggregates over other columns, which include all referenced ones. */
  def withInput(columns: Seq[Attribute]): Aggregates = new Aggregates(functions, results, columns, key)

  /** Ordinals of the input columns that the functions reference. */
  def columns: Set[Int] = {
    val referenced = AttributeSet(functions)
    input.indices.filter(i => referenced.contains(input(i))).toSet
  }

  /** True if every buffer has the same size; its bytes are then used as the buffer. */
  @transient lazy val fixedSize: Boolean = bound.forall(_.isInstanceOf[DeclarativeAggregate]) &&
    layout.forall(UnsafeRow.isMutable)

  @transient private lazy val bound: Seq[AggregateFunction] = {
    val offsets = functions.map(_.aggregateFunction.aggBufferAttributes.size).scanLeft(0)(_ + _)
    functions.map(_.aggregateFunction).zip(offsets).map {
      case (f: ImperativeAggregate, at) => BindReferences
          .bindReference(f: AggregateFunction, AttributeSeq(input)).asInstanceOf[ImperativeAggregate]
          .withNewMutableAggBufferOffset(at).withNewInputAggBufferOffset(at)
      case (f, _) => f
    }
  }
  @transient private lazy val attributes = bound.flatMap(_.aggBufferAttributes)
  @transient private lazy val layout: Array[DataType] = attributes.map(_.dataType).toArray
  @transient private lazy val starts = bound.map(_.aggBufferAttributes.size).scanLeft(0)(_ + _).toArray
  @transient private lazy val imperative: Array[(ImperativeAggregate, BasePredicate)] = bound.zip(functions)
    .collect { case (f: ImperativeAggregate, e) => (f, e.filter.map(predicate).orNull) }.toArray
  @transient private lazy val typed: Array[(TypedImperativeAggregate[AnyRef], Int)] = bound.zip(starts)
    .collect { case (f: TypedImperativeAggregate[_], at) =>
      (f.asInstanceOf[TypedImperativeAggregate[AnyRef]], at)
    }.toArray
  @transient private lazy val initial = mutable(slots(_.initialValues), Nil)
  @transient private lazy val updateBuffer = mutable(bound.zip(functions).flatMap {
      case (f: DeclarativeAggregate, e) => withFilter(f, e.filter)
      case (f, _) => f.aggBufferAttributes.map(_ => NoOp)
    }, attributes ++ input)
  @transient private lazy val mergeBuffers =
    mutable(slots(_.mergeExpressions), attributes ++ bound.flatMap(_.inputAggBufferAttributes))
  @transient private lazy val evaluate = mutable(bound.map {
      case f: DeclarativeAggregate => f.evaluateExpression
      case _ => NoOp
    }, attributes)
  @transient private lazy val resultRow = UnsafeProjection.create(results.map(_.transform {
      case e: AggregateExpression => e.resultAttribute
    }), functions.map(_.resultAttribute) ++ key)
  @transient private lazy val serialised = UnsafeProjection.create(layout)
  @transient private lazy val joinedRow = new JoinedRow
  @transient private lazy val evaluatedRow = new GenericInternalRow(functions.size)
  @transient private lazy val allDeclarative = imperative.isEmpty
  @transient private lazy val slotTypes = layout.toIndexedSeq
  @transient private lazy val empty = serialised(newBuffer()).copy()
  // With declarative functions only, results are evaluated directly over the buffer.
  @transient private lazy val direct = UnsafeProjection.create(results.map(_.transform {
      case e: AggregateExpression => bound(functions.indexWhere(_.resultId == e.resultId))
          .asInstanceOf[DeclarativeAggregate].evaluateExpression
    }), attributes ++ key)

  def create(): InternalRow = if (fixedSize) empty.copy() else newBuffer()

  private def newBuffer(): InternalRow = {
    val buffer = new SpecificInternalRow(slotTypes)
    initial.target(buffer)(InternalRow.empty)
    imperative.foreach(_._1.initialize(buffer))
    buffer
  }

  def update(buffer: InternalRow, row: InternalRow): Unit = {
    updateBuffer.target(buffer)(joinedRow(buffer, row))
    if (!allDeclarative) imperative.foreach { case (f, filter) =>
      if (filter == null || filter.eval(row)) f.update(buffer, row)
    }
  }

  def merge(buffer: InternalRow, other: Array[Byte]): Unit = {
    val right = asUnsafeRow(other)
    mergeBuffers.target(buffer)(joinedRow(buffer, right))
    imperative.foreach(_._1.merge(buffer, right))
  }

  /** Evaluates the results of a buffer without changing it. */
  def result(buffer: InternalRow, key: InternalRow): UnsafeRow = {
    if (allDeclarative) return direct(joinedRow(buffer, key)).copy()
    evaluate.target(evaluatedRow)(buffer)
    var i = 0
    while (i < bound.size) {
      if (!bound(i).isInstanceOf[DeclarativeAggregate]) evaluatedRow.update(i, bound(i).eval(buffer))
      i += 1
    }
    resultRow(joinedRow(evaluatedRow, key)).copy()
  }

  def copy(buffer: InternalRow): InternalRow = if (fixedSize) buffer.copy() else read(write(buffer))

  /** Serialises a buffer. The bytes may be the buffer itself and are valid until its next update. */
  def write(buffer: InternalRow): Array[Byte] = {
    if (fixedSize) return buffer.asInstanceOf[UnsafeRow].getBytes
    if (typed.isEmpty) return serialised(buffer).getBytes
    val flat = new GenericInternalRow(layout.indices.map(i => buffer.get(i, layout(i)): Any).toArray)
    typed.foreach { case (f, at) =>
      flat.update(at, f.serialize(buffer.get(at, f.aggBufferAttributes.head.dataType)))
    }
    serialised(flat).getBytes
  }

  /** Deserialises a buffer, which may be updated in place. */
  def read(bytes: Array[Byte]): InternalRow = {
    val from = asUnsafeRow(bytes)
    if (fixedSize) return from
    val buffer = new SpecificInternalRow(slotTypes)
    var i = 0
    while (i < layout.length) {
      if (from.isNullAt(i)) buffer.setNullAt(i) else buffer.update(i, from.get(i, layout(i)))
      i += 1
    }
    typed.foreach { case (f, at) => buffer.update(at, f.deserialize(from.getBinary(at))) }
    buffer
  }

  private def asUnsafeRow(bytes: Array[Byte]): UnsafeRow = {
    val row = new UnsafeRow(layout.length)
    row.pointTo(bytes, bytes.length)
    row
  }

  private def slots(of: DeclarativeAggregate => Seq[Expression]): Seq[Expression] = bound.flatMap {
    case f: DeclarativeAggregate => of(f)
    case f => f.aggBufferAttributes.map(_ => NoOp)
  }

  private def withFilter(f: DeclarativeAggregate, filter: Option[Expression]): Seq[Expression] =
    filter match {
      case None => f.updateExpressions
      case Some(keep) => f.updateExpressions.zip(f.aggBufferAttributes).map { case (next, now) =>
          If(keep, next, now)
        }
    }

  private def mutable(expressions: Seq[Expression], over: Seq[Attribute]): MutableProjection =
    MutableProjection.create(expressions, over)
  private def predicate(filter: Expression): BasePredicate = Predicate.create(filter, input)
}

object Aggregates {
  /** Creates the aggregates of a step from analysed result expressions. */
  def of(results: Seq[Expression], input: Seq[Attribute], key: Seq[Attribute]): Aggregates = {
    val functions = results.flatMap(_.collect { case e: AggregateExpression => DistinctAggregate.rewrite(e) })
      .distinctBy(_.resultId)
    new Aggregates(functions, results, input, key)
  }

  private def commutative(f: AggregateFunction): Boolean = f match {
    case _: Sum | _: Count | _: Average | _: Min | _: Max | _: CentralMomentAgg | _: CollectSet => true
    case _ => false
  }
}
