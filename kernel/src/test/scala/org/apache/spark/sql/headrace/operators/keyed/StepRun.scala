package org.apache.spark.sql.headrace.operators.keyed

import java.util.Collections

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.operators.{Counts, Time}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Runs a step over in-memory state: rows and watermarks in, emitted rows as text out. A row is a tuple of the
 * values of the input columns, times are seconds, and the state is written and read between two micro-
 * batches.
 *
 * @param columns the columns to show of each output, as `k window.start n`
 */
final class StepRun(step: KeyedStep, columns: (String, String)*) {
  private val shown = columns.toMap.withDefaultValue("reason")
  private val toRow = StepRun.projection(StepColumns.struct(step.columns.source))
  private var run = new KeyedRun(step)

  /** Runs a micro-batch under the watermark of the previous one. */
  def apply(rows: Product*): Seq[String] = batch(None, 0, rows)

  /** Runs a micro-batch in which a watermark takes effect. */
  def at(watermark: Double)(rows: Product*): Seq[String] = batch(Some(StepRun.micros(watermark)), 0, rows)

  /** Runs a micro-batch at a time of the clock. */
  def clock(seconds: Double)(rows: Product*): Seq[String] = batch(None, StepRun.micros(seconds), rows)

  /** Ends the input. */
  def end(): Seq[String] = batch(Some(Time.End), Time.End, Nil)

  def count(name: String): Long = run.counts.value.get(name)

  /** Number of keys with state. */
  def keys: Int = run.keys

  private def batch(watermark: Option[Long], clock: Long, rows: Seq[Product]): Seq[String] = {
    run = run.restart(run.counts)
    val input = rows.map(row => step.columns.withAddedColumns(toRow(row)).copy())
    run.batch(input, watermark, clock).map(text)
  }

  /** Runs a batch: all rows of each key, then the end of the input. */
  def batch(rows: Product*): Seq[String] = {
    val (counts, input) = (Counts.local(), rows.map(row => step.columns.withAddedColumns(toRow(row)).copy()))
    val (logic, out) = (step.logic(counts), new TaggedRows(step.columns, counts))
    input.groupBy(row => step.columns.keyOf(row).copy()).foreach { case (key, own) =>
      logic.onBatch(key, step.columns.events(own.iterator), out)
    }
    out.take().map(text).toVector
  }

  private def text(row: InternalRow): String = {
    val output = row.getString(0)
    val at = step.columns.output.fieldIndex(s"__$output")
    val schema = step.columns.output(at).dataType.asInstanceOf[StructType]
    val content = row.getStruct(at, schema.size)
    val values = shown(output).split(' ').map(path => StepRun.value(content, schema, path.split('.').toList))
    (if (output == "main") "" else s"$output: ") + values.mkString(" ")
  }
}

object StepRun {
  /** A session on this machine; its frames are analysed, not run. */
  def session: SparkSession = SparkSession.builder().master("local[1]").config("spark.ui.enabled", false)
    .config("spark.sql.session.timeZone", "UTC").getOrCreate().asInstanceOf[SparkSession]

  /** An empty frame with these columns. */
  def frame(ddl: String): Dataset[Row] = session
    .createDataFrame(Collections.emptyList[Row], StructType.fromDDL(ddl))

  def micros(seconds: Double): Long = math.round(seconds * 1000000)

  private def projection(schema: StructType): Product => InternalRow = {
    val unsafe = UnsafeProjection.create(schema)
    row => unsafe(internal(row, schema).asInstanceOf[InternalRow]).copy()
  }

  private def internal(value: Any, kind: DataType): Any = (value, kind) match {
    case (null | None, _) => null
    case (Some(inner), _) => internal(inner, kind)
    case (row: Product, schema: StructType) =>
      require(row.productArity == schema.size, s"$row has ${row.productArity} values, not ${schema.size}")
      new GenericInternalRow(row.productIterator.zip(schema.fields.iterator).map { case (v, f) =>
        internal(v, f.dataType)
      }.toArray)
    case (text: String, _) => UTF8String.fromString(text)
    case (number: Int, TimestampType) => micros(number)
    case (number: Double, TimestampType) => micros(number)
    case (number: Int, LongType) => number.toLong
    case (number: Int, DoubleType) => number.toDouble
    case _ => value
  }

  private def value(row: InternalRow, schema: StructType, path: List[String]): String = {
    val at = schema.fieldIndex(path.head)
    (schema(at).dataType, path.tail) match {
      case _ if row.isNullAt(at) => "-"
      case (inner: StructType, rest) if rest.nonEmpty => value(row.getStruct(at, inner.size), inner, rest)
      case (kind, _) => show(row.get(at, kind), kind)
    }
  }

  private def show(value: Any, kind: DataType): String = (value, kind) match {
    case (null, _) => "-"
    case (micros: Long, TimestampType | _: DayTimeIntervalType) => (BigDecimal(micros) / 1000000).toString
    case (row: InternalRow, schema: StructType) => schema.fields.indices
        .map(i => show(row.get(i, schema(i).dataType), schema(i).dataType)).mkString("[", " ", "]")
    case (items: ArrayData, ArrayType(element, _)) => items.toSeq[Any](element).map(show(_, element))
        .mkString("(", " ", ")")
    case _ => value.toString
  }
}
