package org.apache.spark.sql.headrace.tables

import com.esotericsoftware.kryo.io.Input

import org.apache.spark.sql.catalyst.CatalystTypeConverters.{createToCatalystConverter, createToScalaConverter}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, RowOrdering, UnsafeRow}
import org.apache.spark.sql.headrace.operators.{Change, RowBytes}
import org.apache.spark.sql.headrace.operators.keyed.{KeyedOperator, StateView}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{Dataset, Row}

/** Decodes the rows of a table from the entries of its state: those that its changes so far give. */
final class TableView private (step: TableStep) extends StateView(step) {
  private val main = step.columns.output("__main").dataType.asInstanceOf[StructType]
  private val shown = main.fields
    .filterNot(field => Change.fields.exists(_.name == field.name) || field.name == "__ts")
  private val tableType: StructType = StructType(shown).asNullable

  @transient private lazy val toTable = createToScalaConverter(tableType)
  @transient private lazy val toKey = createToCatalystConverter(keyType)
  @transient private lazy val order = step match {
    case top: TopNStep => RowOrdering.create(top.orders, top.rows.stored)
    case _ => null
  }

  /** The rows of the table, each with its key. */
  def rows(entries: Dataset[Row]): Dataset[Row] = {
    val shape = new StructType().add("key", keyType).add("row", tableType)
    decode(entries, shape) { (key, slot, bytes) =>
      if (slot != 0) Nil else rowsOf(key, bytes).map(values => Row(key, row(values)))
    }
  }

  private def row(values: Array[Any]): Any = toTable(new GenericInternalRow(values))

  private def rowsOf(key: Row, bytes: Array[Byte]): Iterable[Array[Any]] = step match {
    case latest: LatestStep => Option(LatestRow.read(bytes, latest.rows.width).row)
        .map(row => latest.rows.values(row))
    case top: TopNStep =>
      val first = TopRows.read(bytes, top.rows.width).first
      first.zip(TopRows.ranks(first, order, top.ties)).map { case (entry, rank) =>
        top.rows.values(entry.row) :+ rank
      }
    case aggregate: RunningAggregateStep => running(aggregate, key, bytes)
    case _ => Nil
  }

  private def running(step: RunningAggregateStep, key: Row, bytes: Array[Byte]): Iterable[Array[Any]] = {
    val (in, types) = (new Input(bytes), step.aggregates.types)
    in.readVarLong(false)
    if (!in.readBoolean()) Nil
    else {
      val last: UnsafeRow = RowBytes.read(in, types.length)
      val keys = toKey(key).asInstanceOf[InternalRow].toSeq(keyType)
      Seq((keys ++ last.toSeq(types)).toArray)
    }
  }
}

object TableView {
  /** Creates a view for the table in a query's plan; null if its step is not a table with rows of its own. */
  def of(query: Dataset[Row]): TableView = KeyedOperator.stepOf(query)
    .collect { case step @ (_: LatestStep | _: TopNStep | _: RunningAggregateStep) =>
      new TableView(step.asInstanceOf[TableStep])
    }.orNull
}
