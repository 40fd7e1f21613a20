package org.apache.spark.sql.headrace.tables

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, StepColumns, TaggedRows}
import org.apache.spark.sql.headrace.operators._
import org.apache.spark.sql.headrace.operators.state.SlotStore
import org.apache.spark.sql.types.{StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A running aggregate: one row for each key that has rows, and its changes. The rows may be a changelog.
 *
 * @param rows the columns of the input
 */
final class RunningAggregateStep(val columns: StepColumns, val rows: TableRows, val aggregates: Aggregates,
    val time: StepTime.Value)
    extends TableStep {
  val keyed: Boolean = columns.keys.nonEmpty
  override def logic(counts: Counts): KeyedLogic = new RunningAggregate(this, counts)
}

object RunningAggregateStep {
  /** Creates a step; `grouped` is `frame` grouped by key and aggregated. */
  def apply(frame: Dataset[Row], grouped: Dataset[Row], text: String): RunningAggregateStep = {
    val spec = new TableSpec(text)
    val plan = GroupedPlan(frame, grouped)
    val aggregates = plan.aggregates
    val fields = plan.keys.map(k => StructField(k.name, k.dataType)) ++ plan.names.zip(aggregates.types).map {
      case (name, kind) => StructField(name, kind)
    }
    val main = StructType(fields :+ StructField(Change.Hidden, StringType))
    new RunningAggregateStep(new StepColumns(plan.input, Nil, spec.keys, Seq("main" -> main)),
      new TableRows(plan.input), aggregates, spec.time)
  }
}

private final class RunningAggregate(step: RunningAggregateStep, counts: Counts) extends KeyedLogic {
  private val aggregates = step.aggregates
  private val types = aggregates.types

  /** The number of rows, the row last emitted (null for none), and the buffer. */
  private final class Group(var present: Long, var last: UnsafeRow, val buffer: InternalRow)

  override def onRows(
      key: InternalRow, store: SlotStore, events: Iterator[Event], now: Now, out: TaggedRows): Unit = {
    val group = read(store.get(0))
    events.foreach { event =>
      counts.add(Counts.Rows, 1)
      counts.add(Counts.Processed, 1)
      aggregates.update(group.buffer, event.row)
      group.present += (if (step.rows.removes(event.row)) -1 else 1)
    }
    val next = if (group.present > 0 || !step.keyed) aggregates.result(group.buffer, key) else null
    Change.between(group.last, next)(emit(key, _, _, out))
    group.last = next
    if (group.present == 0 && step.keyed) store.remove(0) else store.put(0, write(group))
  }

  private def emit(key: InternalRow, row: UnsafeRow, change: UTF8String, out: TaggedRows): Unit = {
    val values = key.toSeq(step.columns.keyType) ++ row.toSeq(types)
    out.emit(0, new GenericInternalRow((values :+ change).toArray))
  }

  private def read(bytes: Array[Byte]): Group =
    if (bytes == null) new Group(0, null, aggregates.create())
    else {
      val in = new Input(bytes)
      val present = in.readVarLong(false)
      val last = if (in.readBoolean()) RowBytes.read(in, types.length) else null
      new Group(present, last, aggregates.read(RowBytes.read(in)))
    }

  private def write(group: Group): Array[Byte] = {
    val (out, buffer) = (new Output(256, -1), aggregates.write(group.buffer))
    out.writeVarLong(group.present, false)
    out.writeBoolean(group.last != null)
    if (group.last != null) RowBytes.write(group.last, out)
    RowBytes.write(buffer, out)
    out.toBytes
  }
}
