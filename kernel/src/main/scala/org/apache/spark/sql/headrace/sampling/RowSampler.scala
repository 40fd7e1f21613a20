package org.apache.spark.sql.headrace.sampling

import java.util.{ArrayList, List => JavaList}

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow, Nondeterministic}
import org.apache.spark.sql.headrace.operators.JsonRowWriter
import org.apache.spark.sql.types.{BooleanType, DataType, StructType}
import org.apache.spark.util.AccumulatorV2

/** Collects the first `most` rows at a point of a plan, as JSON, and cuts long texts to `length`. */
final class RowSampler(val most: Int, val length: Int) extends AccumulatorV2[String, JavaList[String]] {
  private val rows = new ArrayList[String]

  override def add(row: String): Unit = synchronized { if (rows.size < most) rows.add(row) }
  override def value: JavaList[String] = synchronized(new ArrayList(rows))
  override def isZero: Boolean = synchronized(rows.isEmpty)
  override def reset(): Unit = synchronized(rows.clear())
  override def copy(): RowSampler = {
    val other = new RowSampler(most, length)
    value.forEach(other.add(_))
    other
  }
  override def merge(other: AccumulatorV2[String, JavaList[String]]): Unit = other.value.forEach(add(_))

  def isFull: Boolean = synchronized(rows.size >= most)
}

/** True; adds rows to a sample until it is full. Non-deterministic, so that Spark evaluates it in place. */
case class SampleRow(sampler: RowSampler, shape: StructType, children: Seq[Expression])
    extends Expression with Nondeterministic with CodegenFallback {
  @transient private lazy val json = new JsonRowWriter(new ObjectMapper)

  override def dataType: DataType = BooleanType
  override def nullable: Boolean = false
  override def prettyName: String = "sample_row"
  override protected def initializeInternal(partitionIndex: Int): Unit = ()

  override protected def evalInternal(input: InternalRow): Any = {
    if (!sampler.isFull)
      try {
        val text = json.text(new GenericInternalRow(children.map(_.eval(input)).toArray[Any]), shape)
        sampler.add(if (text.length <= sampler.length) text else text.take(sampler.length) + "…")
      } catch { case NonFatal(_) => () } // a sample must not fail the run
    true
  }

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): SampleRow =
    copy(children = newChildren)
}
