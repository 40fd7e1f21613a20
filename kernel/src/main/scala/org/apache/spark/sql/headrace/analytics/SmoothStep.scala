package org.apache.spark.sql.headrace.analytics

import java.util.Arrays

import com.esotericsoftware.kryo.io.{Input, Output}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.operators.StepTime
import org.apache.spark.sql.headrace.operators.inorder.{InOrderStep, Matcher}
import org.apache.spark.sql.headrace.operators.keyed.{StepColumns, StepOutput}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Row}

/** A filter of the values of one key. */
trait Smoother {
  /** Adds a value and returns the smoothed one. */
  def next(value: Double): Double
  def write(out: Output): Unit
  def read(in: Input): Unit
}

/** A step that passes on each row of a key with a smoothed value. */
final class SmoothStep(val columns: StepColumns, override val arrival: Boolean,
    override val time: StepTime.Value, method: String)
    extends InOrderStep {
  override lazy val fingerprint: Int =
    Seq(method, arrival, StepColumns.struct(columns.visible).sql, columns.keyType.sql).toString.hashCode
  override def matcher(): Matcher = new SmoothMatcher(this, SmoothStep.json.readTree(method))
}

object SmoothStep {
  private val json = new ObjectMapper

  /** Creates a step from JSON: `keys`, `order`, `time`, `column`, `method`; the value is in `__on`. */
  def apply(frame: Dataset[Row], text: String): SmoothStep = {
    val tree = json.readTree(text)
    val added = new StructType().add(tree.get("column").asText, DoubleType)
    new SmoothStep(RowsWithColumns.columns(frame, tree, added), tree.path("order").asText == "arrival",
      StepTime.withName(tree.get("time").asText), tree.get("method").toString)
  }

  def smoother(method: JsonNode): Smoother = method.get("kind").asText match {
    case "moving_average" => new MovingAverage(method.get("rows").asInt)
    case "median" => new MovingMedian(method.get("rows").asInt)
    case "exponential" => new Exponential(method.get("alpha").asDouble)
    case "kalman" => new Kalman(method.get("process").asDouble, method.get("measurement").asDouble)
    case other => throw new IllegalArgumentException(s"unknown smoothing method $other")
  }
}

final class SmoothMatcher(step: SmoothStep, method: JsonNode) extends Matcher {
  override type Memory = SmoothMemory
  private val at = step.columns.input.indexWhere(_.name == "__on")
  private val rows = new RowsWithColumns(step.columns)

  override def empty: SmoothMemory = new SmoothMemory(SmoothStep.smoother(method))
  override def isEmpty(memory: SmoothMemory): Boolean = !memory.hasRows

  override def take(
      key: InternalRow, memory: SmoothMemory, row: InternalRow, time: Long, out: StepOutput): Unit = {
    val value = if (row.isNullAt(at)) Double.NaN else row.getDouble(at)
    val missing = value.isNaN || value.isInfinite
    if (!missing) memory.hasRows = true
    out.emit(0, rows.row(row, Array[Any](if (missing) null else memory.smoother.next(value)), time))
  }

  override def advance(key: InternalRow, memory: SmoothMemory, time: Long, out: StepOutput): Unit = ()
  override def finish(key: InternalRow, memory: SmoothMemory, out: StepOutput): Unit = ()
  override def due(memory: SmoothMemory): Long = Long.MaxValue
  override def write(memory: SmoothMemory, out: Output): Unit = memory.smoother.write(out)

  override def read(in: Input): SmoothMemory = {
    val memory = empty
    memory.hasRows = true
    memory.smoother.read(in)
    memory
  }
}

final class SmoothMemory(val smoother: Smoother) {
  var hasRows = false
}

/** The mean of the last values. */
final class MovingAverage(size: Int) extends Smoother {
  private val recent = new RecentValues(size)

  override def next(value: Double): Double = {
    recent.add(value)
    recent.mean
  }
  override def write(out: Output): Unit = recent.write(out)
  override def read(in: Input): Unit = recent.read(in)
}

/** The median of the last values. */
final class MovingMedian(size: Int) extends Smoother {
  private val recent = new RecentValues(size)

  override def next(value: Double): Double = {
    recent.add(value)
    val sorted = recent.toArray
    Arrays.sort(sorted)
    Mad.median(sorted)
  }
  override def write(out: Output): Unit = recent.write(out)
  override def read(in: Input): Unit = recent.read(in)
}

/** The exponentially weighted mean, which starts at the first value. */
final class Exponential(alpha: Double) extends Smoother {
  private var level = Double.NaN

  override def next(value: Double): Double = {
    level = if (level.isNaN) value else level + alpha * (value - level)
    level
  }
  override def write(out: Output): Unit = out.writeDouble(level)
  override def read(in: Input): Unit = level = in.readDouble()
}

/**
 * A Kalman filter of a level that moves at random.
 *
 * @param process the variance of the movement from one row to the next
 * @param measurement the variance of a value around the level
 */
final class Kalman(process: Double, measurement: Double) extends Smoother {
  private var level = Double.NaN
  private var variance = 0.0

  override def next(value: Double): Double = {
    if (level.isNaN) {
      level = value
      variance = measurement
    } else {
      val predicted = variance + process
      val gain = predicted / (predicted + measurement)
      level += gain * (value - level)
      variance = (1 - gain) * predicted
    }
    level
  }

  override def write(out: Output): Unit = {
    out.writeDouble(level)
    out.writeDouble(variance)
  }

  override def read(in: Input): Unit = {
    level = in.readDouble()
    variance = in.readDouble()
  }
}
