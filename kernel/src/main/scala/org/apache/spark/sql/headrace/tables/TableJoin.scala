package org.apache.spark.sql.headrace.tables

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.joins.JoinKind
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, StepColumns}
import org.apache.spark.sql.headrace.operators._
import org.apache.spark.sql.types.{DataType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** The moment at which a row of a stream meets a table. */
object JoinAt extends Enumeration {
  val Arrival: Value = Value("arrival")
  val EventTime: Value = Value("event_time")
  val Live: Value = Value("live")
}

/**
 * A join of a stream or table (left) with a table, or live with a stream (right), by key.
 *
 * The input is the union of both sides. A left row has its columns; a right row has the struct `__right`, and
 * at event time `__deleted` if it removes its key. `__change` labels the left rows of a changelog,
 * `__right_change` the right ones.
 *
 * @param kind the pairs and rows that are results
 * @param condition the extra condition over the bound columns `left` and `right`; None for all pairs
 * @param identity ordinals of the left columns that identify a left row; removed and added results of one
 *   identity are an update
 * @param single true if the join key identifies a left row, so that all results of a key are of one identity
 * @param upserts true if a right row replaces that of its key: the changes of a CDC source
 */
final class TableJoinStep(val columns: StepColumns, val left: TableRows, val at: JoinAt.Value,
    val kind: JoinKind, condition: Option[Expression], identity: Array[Int], val single: Boolean,
    val upserts: Boolean, val time: StepTime.Value)
    extends TableStep {
  private val right = columns.input.indexWhere(_.name == TableJoinStep.Right)
  private val deleted = columns.input.indexWhere(_.name == TableJoinStep.Deleted)
  private val label = columns.input.indexWhere(_.name == TableJoinStep.Label)
  private val sequence = columns.input.indexWhere(_.name == TableJoinStep.Sequence)
  private val rightTypes: Array[DataType] = columns.input(right).dataType.asInstanceOf[StructType].fields
    .map(_.dataType)

  /** Number of columns of a right row; the last one is its event time. */
  val rightWidth: Int = rightTypes.length
  private val shownRight = if (kind.pairs) rightWidth - 1 else 0

  @transient private lazy val identityColumns = UnsafeProjection
    .create(identity.toSeq.map(i => BoundReference(i, left.types(i), nullable = true)))

  /** The columns that identify a left row. Reuses its result. */
  def identityOf(row: UnsafeRow): UnsafeRow = identityColumns(row)

  def hasCondition: Boolean = condition.nonEmpty
  def pairCondition(): PairCondition = new PairCondition(condition)

  def isRight(row: InternalRow): Boolean = !row.isNullAt(right)
  def rightRow(row: InternalRow): UnsafeRow = row.getStruct(right, rightWidth).asInstanceOf[UnsafeRow].copy()
  def isDeleted(row: InternalRow): Boolean = deleted >= 0 && !row.isNullAt(deleted) && row.getBoolean(deleted)

  def removesRight(row: InternalRow): Boolean = Change.removes(row, label)

  /** The arrival order of a version among those of its key and time. */
  def sequenceOf(row: InternalRow): Long =
    if (sequence < 0 || row.isNullAt(sequence)) 0L else row.getLong(sequence)

  /** The columns of a left row and its partner, of which one may be null; `change` is null for a stream. */
  def joinRows(row: UnsafeRow, partner: UnsafeRow, change: UTF8String): InternalRow = {
    val own = if (row == null) new Array[Any](left.columns.size) else left.values(row)
    val values = own ++ Array.tabulate[Any](shownRight) { i =>
      if (partner == null) null else partner.get(i, rightTypes(i))
    }
    val labels = if (change == null) Array.empty[Any] else Array[Any](change, change)
    val time = if (row != null) left.timeOf(row) else partner.get(rightWidth - 1, rightTypes.last)
    new GenericInternalRow(values ++ labels :+ time)
  }

  override def logic(counts: Counts): KeyedLogic = at match {
    case JoinAt.Arrival => new ArrivalJoin(this, counts)
    case JoinAt.EventTime => new VersionJoin(this, counts)
    case JoinAt.Live => new LiveJoin(this, counts)
  }
}

object TableJoinStep {
  private val Right = "__right"
  private val Deleted = "__deleted"
  private val Label = "__right_change"
  private val Sequence = "__sequence"

  /**
   * Creates a step.
   *
   * @param frame the rows of both sides
   * @param conditioned the extra condition as the only column over a frame of pairs; may be null
   * @param text the declaration as JSON
   */
  def apply(frame: Dataset[Row], conditioned: Dataset[Row], text: String): TableJoinStep = {
    val spec = new TableSpec(text)
    val input = OperatorPlan.planOf(frame).output
    val left = new TableRows(input)
    val kind = JoinKind.of(spec.word("how"))
    val partner =
      if (kind.pairs) input.find(_.name == Right).get.dataType.asInstanceOf[StructType].fields.dropRight(1)
      else Array.empty[StructField]
    val at = JoinAt.withName(spec.word("at"))
    val labels = if (at == JoinAt.Live) Change.fields else Nil
    val main = StructType(left.fields ++ partner.map(_.copy(nullable = true)) ++ labels :+ left.timeField)
    val names = if (spec.words("identity").isEmpty) left.columns.map(_.name) else spec.words("identity")
    new TableJoinStep(
      new StepColumns(input, Nil, spec.keys, Seq("main" -> main)), left, at, kind,
      PairCondition.bind(conditioned), names.map(name => left.columns.indexWhere(_.name == name)).toArray,
      spec.flag("single"), spec.flag("upserts"), spec.time)
  }
}
