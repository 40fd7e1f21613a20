package org.apache.spark.sql.headrace.analytics

import scala.jdk.CollectionConverters._

import com.esotericsoftware.kryo.io.{Input, Output}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.headrace.operators.{OperatorPlan, RowBytes, StepTime}
import org.apache.spark.sql.headrace.operators.inorder.{InOrderStep, Matcher}
import org.apache.spark.sql.headrace.operators.keyed.{StepColumns, StepOutput}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A step that passes on each row of a key with the verdict of a detector.
 *
 * @param declared the declaration of the detector as JSON
 * @param warmUp the number of rows of a key that are only learned
 */
final class DetectStep(val columns: StepColumns, override val arrival: Boolean,
    override val time: StepTime.Value, declared: String, val warmUp: Int, values: Int)
    extends InOrderStep {
  override lazy val fingerprint: Int =
    Seq(declared, warmUp, arrival, StepColumns.struct(columns.visible).sql, columns.keyType.sql).toString
      .hashCode
  override def matcher(): DetectMatcher = new DetectMatcher(this, values, detector)
  @transient private lazy val detector = DetectorSpec.read(DetectStep.json.readTree(declared))
}

object DetectStep {
  private val json = new ObjectMapper
  private val added = new StructType().add("score", DoubleType).add("expected", DoubleType)
    .add("low", DoubleType).add("high", DoubleType).add("anomalous", BooleanType).add("reason", StringType)

  /**
   * Creates a step from JSON: `keys`, `order`, `time`, `warm_up`, `values` and `detector`.
   *
   * @param frame the input, with the values of the detectors in `__on0`, `__on1`, ...
   */
  def apply(frame: Dataset[Row], text: String): DetectStep = {
    val tree = json.readTree(text)
    new DetectStep(
      RowsWithColumns.columns(frame, tree, added), tree.path("order").asText == "arrival",
      StepTime.withName(tree.get("time").asText), tree.get("detector").toString, tree.get("warm_up").asInt,
      tree.get("values").asInt)
  }
}

/** Builds the rows of a step whose main output is the input row and other columns, and the time if it has one. */
final class RowsWithColumns(columns: StepColumns) {
  private val at = columns.visible.map(a => columns.input.indexWhere(_.exprId == a.exprId)).toArray
  private val timed = columns.output("__main").dataType.asInstanceOf[StructType].fieldNames.last == "__ts"
  private val types = columns.visible.map(_.dataType).toArray

  /** The row is a copy: the result refers to it. */
  def row(from: InternalRow, added: Array[Any], time: Long): InternalRow = {
    val values = new Array[Any](at.length + added.length + (if (timed) 1 else 0))
    var i = 0
    while (i < at.length) {
      values(i) = if (from.isNullAt(at(i))) null else from.get(at(i), types(i))
      i += 1
    }
    System.arraycopy(added, 0, values, at.length, added.length)
    if (timed) values(values.length - 1) = time
    new GenericInternalRow(values)
  }
}

object RowsWithColumns {
  /** Reads the columns of such a step from its input and its declaration, which has `keys`. */
  def columns(frame: Dataset[Row], tree: JsonNode, added: StructType): StepColumns = {
    val plan = OperatorPlan.planOf(frame)
    val visible = plan.output.filterNot(_.name.startsWith("__"))
    val row = StructType(visible.map(a => StructField(a.name, a.dataType)) ++ added.fields)
    val main = if (tree.get("time").asText == "none") row else row.add("__ts", TimestampType)
    new StepColumns(
      plan.output, Nil, tree.get("keys").elements.asScala.map(_.asText).toVector, Seq("main" -> main))
  }
}

/** The state of one key: a detector, the number of its rows, and the last row if its absence is detected. */
final class DetectMemory(val state: DetectorState) {
  var rows = 0L
  var last: UnsafeRow = _
}

final class DetectMatcher(step: DetectStep, width: Int, detector: Detector) extends Matcher {
  override type Memory = DetectMemory
  private val verdict = new Verdict
  private val rows = new RowsWithColumns(step.columns)
  private val values = new Array[Double](width)
  private val at = (0 until width).map(i => step.columns.input.indexWhere(_.name == s"__on$i")).toArray

  override def empty: DetectMemory = new DetectMemory(detector.create())
  override def isEmpty(memory: DetectMemory): Boolean = memory.rows == 0

  override def take(
      key: InternalRow, memory: DetectMemory, row: InternalRow, time: Long, out: StepOutput): Unit = {
    judge(memory, row, time)
    emit(row, time, out)
    memory.state.learn(values, time)
    memory.rows += 1
    if (memory.state.due != Long.MaxValue) memory.last = row.asInstanceOf[UnsafeRow]
  }

  /** Sets the verdict of the next row. */
  def judge(memory: DetectMemory, row: InternalRow, time: Long): Verdict = {
    var i = 0
    while (i < width) {
      values(i) = if (row.isNullAt(at(i))) Double.NaN else row.getDouble(at(i))
      i += 1
    }
    verdict.clear()
    verdict.warming = memory.rows < step.warmUp
    memory.state.judge(values, time, verdict)
    if (verdict.warming) {
      val scored = !verdict.score.isNaN
      verdict.clear()
      if (scored) verdict.score = 0
    }
    verdict
  }

  /** At the end of the input, which is the end of time, every key is missing. */
  override def advance(key: InternalRow, memory: DetectMemory, time: Long, out: StepOutput): Unit =
    while (memory.state.due <= time) {
      val due = memory.state.due
      verdict.clear()
      memory.state.expire(verdict)
      emit(memory.last, due, out)
    }

  override def finish(key: InternalRow, memory: DetectMemory, out: StepOutput): Unit = ()
  override def due(memory: DetectMemory): Long = memory.state.due

  override def write(memory: DetectMemory, out: Output): Unit = {
    out.writeVarLong(memory.rows, true)
    memory.state.write(out)
    out.writeBoolean(memory.last != null)
    if (memory.last != null) RowBytes.write(memory.last, out)
  }

  override def read(in: Input): DetectMemory = {
    val memory = empty
    memory.rows = in.readVarLong(true)
    memory.state.read(in)
    if (in.readBoolean()) memory.last = RowBytes.read(in, step.columns.input.size)
    memory
  }

  private def emit(row: InternalRow, time: Long, out: StepOutput): Unit = {
    def number(value: Double): Any = if (value.isNaN || value.isInfinite) null else value
    val added = Array[Any](
      number(verdict.score), number(verdict.expected), number(verdict.low), number(verdict.high),
      verdict.anomalous, if (verdict.reason == null) null else UTF8String.fromString(verdict.reason))
    out.emit(0, rows.row(row, added, time))
  }
}
