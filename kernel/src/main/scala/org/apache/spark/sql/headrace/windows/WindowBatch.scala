package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.analysis.UnresolvedDeserializer
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.classic
import org.apache.spark.sql.headrace.operators.state.MemoryStore
import org.apache.spark.sql.headrace.operators.{Counts, Now, OperatorPlan, Time, WholeRow}
import org.apache.spark.sql.types.{ObjectType, StructField, StructType}
import org.apache.spark.sql.{Dataset, Row}

/**
 * A step over rows that are all there: each key's rows in one call, then the end of the input. What a stream's last panes
 * must equal.
 */
object WindowBatch {
  def apply(frame: Dataset[Row], grouped: Dataset[Row], spec: String): Dataset[Row] = {
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession]
    val step = WindowStep(frame, grouped, spec)
    val (keys, child) = OperatorPlan.withConstantKey(step.keys, frame.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed)
    val encoder = ExpressionEncoder(StructType(keys.map(k => StructField(k.name, k.dataType, k.nullable))))
    val node = MapGroups(
      new WindowBatchRun(step), UnresolvedDeserializer(encoder.deserializer, keys), WholeRow(), keys, child.output, Nil,
      AttributeReference("row", ObjectType(classOf[InternalRow]), nullable = false)(), child)
    classic.Dataset.ofRows(session, OperatorPlan.unpackRows(node, node.outputObjAttr, step.layout.output))
  }
}

/** The whole life of one key. */
private final class WindowBatchRun(step: WindowStep) extends ((Any, Iterator[Any]) => IterableOnce[Any]) with Serializable {
  @transient private lazy val logic = step.logic(Counts.local())
  @transient private lazy val out = new WindowRows(step.layout, step.spec.kind)
  @transient private lazy val toCatalyst = CatalystTypeConverters.createToCatalystConverter(
    StructType(step.keys.map(k => StructField(k.name, k.dataType))))

  override def apply(key: Any, rows: Iterator[Any]): IterableOnce[Any] = {
    val own = if (step.keys.isEmpty) InternalRow.empty else toCatalyst(key).asInstanceOf[InternalRow]
    val store = new MemoryStore
    val events = step.events(rows.map(_.asInstanceOf[InternalRow]))
    logic.onRows(own, store, events, Now(Time.None, 0), out)
    val end = Now(Time.End, Time.End)
    store.due(Time.floor(Time.End)).foreach(logic.onTimer(own, store, _, end, out))
    out.take()
  }
}
