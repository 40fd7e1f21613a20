package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.functions.{collect_list, struct}
import org.apache.spark.sql.headrace.operators.Counts
import org.apache.spark.sql.headrace.operators.keyed.{KeyedOperator, StateView}
import org.apache.spark.sql.headrace.operators.state.OrderedBuffer
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Encoders, Row}

/** Decodes the state of a windowed step from the entries of the state variable `windows`. */
final class WindowStateView(step: WindowStep) extends StateView(step) {
  private val valueType: StructType = StructType(step.layout.names.zip(step.layout.types).map { case (n, t) =>
    StructField(n, t)
  })
  private val windowType: StructType = new StructType().add("key", keyType).add("start", TimestampType)
    .add("end", TimestampType).add("number", LongType).add("rows", LongType).add("unshown", LongType)
    .add("last_pane", IntegerType).add("closed", BooleanType).add("values", valueType)

  @transient private lazy val panes = new Panes(step.spec, step.aggregates, Counts.local(), step.layout)
  @transient private lazy val codec = new OrderedCodec(panes)
  @transient private lazy val sessions = new SessionCodec(panes)
  @transient private lazy val storedRows = new StoredRowsCodec
  @transient private lazy val shared = new SliceCodec(step.aggregates, panes.fingerprint)
  @transient private lazy val toCatalyst = CatalystTypeConverters.createToCatalystConverter(keyType)
  @transient private lazy val toValues = CatalystTypeConverters.createToScalaConverter(valueType)

  /** True if the state may hold buffered rows. */
  def ordered: Boolean = step.spec.ordered || step.keepsSessions

  def windows(entries: Dataset[Row]): Dataset[Row] =
    if (step.slices) sliding(entries)
    else decode(entries, windowType)((key, slot, bytes) => windows(slot, bytes).map(windowRow(key, _)))

  private def windows(slot: Long, bytes: Array[Byte]): Iterable[WindowState] = step.spec.kind match {
    case _: Trailing => Nil
    case _ if step.keepsSessions => Nil
    case _: Session => sessions.read(bytes)
    case _ if !step.spec.ordered => Seq(panes.read(bytes))
    case _ => if (slot == 0) codec.read(bytes).open else Nil
  }

  /** Windows that share slices need all entries of a key. */
  private def sliding(entries: Dataset[Row]): Dataset[Row] = {
    val Array(key, slot, bytes) = entries.columns
    entries.groupBy(key).agg(collect_list(struct(slot, bytes)))
      .flatMap((row: Row) => sliding(keyOf(row), row.getSeq[Row](1)))(Encoders.row(windowType))
  }

  private def sliding(key: Row, entries: Seq[Row]): Seq[Row] = {
    val bytes = entries.map(entry => entry.getLong(0) -> entry.getAs[Array[Byte]](1)).toMap
    val slices = (bytes - SliceCodec.State).values.flatMap(shared.slices).toArray.sortBy(_.start)
    val fired = shared.state(bytes.getOrElse(SliceCodec.State, null)).firedUntil
    val grid = WindowGrid.of(step.spec.kind).get
    val open = Vector.newBuilder[Row]
    SlicedWindows.windows(grid, slices, fired, Long.MaxValue) { (from, end) =>
      open += windowRow(key, SlicedWindows.window(step.aggregates, grid, slices, from, end))
    }
    open.result()
  }

  def waiting(entries: Dataset[Row]): Dataset[Row] = {
    val shape = new StructType().add("key", keyType).add("time", TimestampType).add("panes", IntegerType)
      .add("row", rowType)
    decode(entries, shape) { (key, slot, bytes) =>
      waiting(slot, bytes).map { case (at, panes, row) =>
        Row(key, time(at), panes, toRow(step.columns.storedRow(row)))
      }
    }
  }

  /** The time, number of panes and content of buffered rows. */
  private def waiting(slot: Long, bytes: Array[Byte]): Iterable[(Long, Int, InternalRow)] =
    step.spec.kind match {
      case _: Trailing | _: Session => storedRows.read(bytes).rows
          .map(entry => (entry.time, entry.index, entry.row))
      case _ =>
        val rows = if (slot == 0) codec.read(bytes).backlog.tailRows else OrderedBuffer.chunkRows(bytes)
        rows.map(entry => (entry.time, 0, entry.row))
    }

  private def windowRow(key: Row, window: WindowState): Row = {
    val unbounded = step.spec.kind == GlobalWindow
    Row(
      key, if (unbounded) null else time(window.start), if (unbounded) null else time(window.end),
      if (step.layout.numbered) window.number else null, window.rows, window.unfired,
      if (window.index == 0) null else window.index - 1, window.closed, values(key, window))
  }

  private def values(key: Row, window: WindowState): Any =
    if (window.buffer == null) null
    else toValues(step.aggregates.result(window.buffer, toCatalyst(key).asInstanceOf[InternalRow]))
}

object WindowStateView {
  /** Creates a view for the windowed step in a query's plan; null if Spark's own operator runs it. */
  def of(query: Dataset[Row]): WindowStateView = KeyedOperator.stepOf(query)
    .collect { case step: WindowStep => new WindowStateView(step) }.orNull
}
