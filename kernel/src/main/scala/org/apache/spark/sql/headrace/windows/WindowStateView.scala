package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.functions.{collect_list, struct}
import org.apache.spark.sql.headrace.operators.Counts
import org.apache.spark.sql.headrace.operators.keyed.{KeyedOperator, StepColumns}
import org.apache.spark.sql.headrace.operators.state.RowChunk
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Encoders, Row}

/** Decodes the state of a windowed step as Spark's state reader returns it. */
final class WindowStateView(step: WindowStep) {
  private val columns = new WindowStateColumns(step)

  /** Open windows, from the entries (`key`, `slot`, `bytes`) of the state variable `windows`. */
  def windows(entries: Dataset[Row]): Dataset[Row] =
    if (step.slices) sliding(entries) else decode(entries, columns.windows)(_.windows)

  /** Windows that share slices need all entries of a key. */
  private def sliding(entries: Dataset[Row]): Dataset[Row] = {
    val (declared, shape) = (step, columns)
    val Array(key, slot, bytes) = entries.columns
    entries.groupBy(key).agg(collect_list(struct(slot, bytes))).mapPartitions { (rows: Iterator[Row]) =>
      val reader = new WindowStateReader(declared, shape)
      rows.flatMap(row => reader.sliding(row.getStruct(0), row.getSeq[Row](1)))
    }(Encoders.row(columns.windows))
  }

  /** Buffered rows, from the same entries. */
  def waiting(entries: Dataset[Row]): Dataset[Row] = decode(entries, columns.waiting)(_.waiting)

  /** True if the state may hold buffered rows. */
  def ordered: Boolean = step.spec.ordered || step.keepsSessions

  private def decode(entries: Dataset[Row], schema: StructType)(
      read: WindowStateReader => (Row, Long, Array[Byte]) => Iterator[Row]): Dataset[Row] = {
    val (declared, shape) = (step, columns)
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val decode = read(new WindowStateReader(declared, shape))
      rows.flatMap(row => decode(row.getStruct(0), row.getLong(1), row.getAs[Array[Byte]](2)))
    }(Encoders.row(schema))
  }
}

object WindowStateView {
  /** Creates a view for the windowed step in a query's plan; null if Spark's own operator runs it. */
  def of(query: Dataset[Row]): WindowStateView = KeyedOperator.stepOf(query)
    .collect { case step: WindowStep => new WindowStateView(step) }.orNull
}

final class WindowStateColumns(step: WindowStep) extends Serializable {
  val key: StructType = step.columns.keyType.asNullable
  val row: StructType = StepColumns.struct(step.columns.visible).asNullable
  val values: StructType = StructType(step.layout.names.zip(step.layout.types).map { case (n, t) =>
    StructField(n, t)
  })
  val windows: StructType = new StructType().add("key", key).add("start", TimestampType)
    .add("end", TimestampType).add("number", LongType).add("rows", LongType).add("unshown", LongType)
    .add("last_pane", IntegerType).add("closed", BooleanType).add("values", values)
  val waiting: StructType = new StructType().add("key", key).add("time", TimestampType)
    .add("panes", IntegerType).add("row", row)
}

/** Decodes entries. */
final class WindowStateReader(step: WindowStep, columns: WindowStateColumns) {
  private val panes = new Panes(step.spec, step.aggregates, Counts.local(), step.layout)
  private val codec = new OrderedCodec(panes)
  private val sessions = new SessionCodec(panes)
  private val trailing = new TrailingCodec
  private val shared = new SliceCodec(step.aggregates, panes.fingerprint)
  private val internal = CatalystTypeConverters.createToCatalystConverter(columns.key)
  private val toScala = CatalystTypeConverters.createToScalaConverter(columns.values)
  private val time = CatalystTypeConverters.createToScalaConverter(TimestampType)
  private val toRow = CatalystTypeConverters.createToScalaConverter(columns.row)

  def windows(key: Row, slot: Long, bytes: Array[Byte]): Iterator[Row] = {
    val open = step.spec.kind match {
      case _: Trailing => Iterator.empty
      case _ if step.keepsSessions => Iterator.empty
      case _: Session => sessions.read(bytes).iterator
      case _ if !step.spec.ordered => Iterator.single(panes.read(bytes))
      case _ => if (slot == 0) codec.read(bytes).open.iterator else Iterator.empty
    }
    open.map(window(keyRow(key), _))
  }

  /** Decodes windows that share slices, from all entries of a key. */
  def sliding(key: Row, entries: Seq[Row]): Iterator[Row] = {
    val bytes = entries.map(entry => entry.getLong(0) -> entry.getAs[Array[Byte]](1)).toMap
    val slices = (bytes - SliceCodec.State).values.flatMap(shared.slices).toArray.sortBy(_.start)
    val fired = shared.state(bytes.getOrElse(SliceCodec.State, null)).firedUntil
    val grid = WindowGrid.of(step.spec.kind).get
    val open = Vector.newBuilder[Row]
    SlicedWindows.windows(grid, slices, fired, Long.MaxValue) { (from, end) =>
      open += window(keyRow(key), SlicedWindows.window(step.aggregates, grid, slices, from, end))
    }
    open.result().iterator
  }

  def waiting(key: Row, slot: Long, bytes: Array[Byte]): Iterator[Row] = step.spec.kind match {
    case _: Trailing | _: Session => trailing.read(bytes).rows.iterator
        .map(entry => waiting(key, entry.time, entry.index, entry.row))
    case _ =>
      val rows = if (slot == 0) codec.read(bytes).backlog.tailRows else RowChunk.rows(bytes, 0, bytes.length)
      rows.map(entry => waiting(key, entry.time, 0, entry.row))
  }

  private def waiting(key: Row, at: Long, panes: Int, of: InternalRow): Row =
    Row(keyRow(key), time(at), panes, toRow(step.columns.storedRow(of)))

  private def window(key: Row, window: WindowState): Row = {
    val unbounded = step.spec.kind == GlobalWindow
    Row(
      key, if (unbounded) null else time(window.start), if (unbounded) null else time(window.end),
      if (step.layout.numbered) window.number else null, window.rows, window.unfired,
      if (window.index == 0) null else window.index - 1, window.closed, values(key, window))
  }

  private def values(key: Row, window: WindowState): Any =
    if (window.buffer == null) null
    else toScala(step.aggregates.result(window.buffer, internal(key).asInstanceOf[InternalRow]))

  /** Without key columns Spark's key is a constant; hide it. */
  private def keyRow(key: Row): Row = if (columns.key.isEmpty) Row.empty else key
}
