package org.apache.spark.sql.headrace.analytics

import java.nio.ByteBuffer

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}
import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.headrace.operators.{RowBytes, StepTime}
import org.apache.spark.sql.headrace.operators.inorder.{InOrderStep, Matcher}
import org.apache.spark.sql.headrace.operators.keyed.{StepColumns, StepOutput}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A step that makes alerts of rows: one row for each change of the state of a key, or of a group of keys.
 *
 * @param members the columns that identify a key inside its group; empty if a key is its own group
 * @param repeat after this long a row that still fires repeats the alert; Long.MaxValue for never
 */
final class AlertStep(val columns: StepColumns, override val arrival: Boolean,
    override val time: StepTime.Value, val members: Seq[String], val severity: String, val repeat: Long)
    extends InOrderStep {
  override lazy val fingerprint: Int =
    Seq(members, repeat, arrival, StepColumns.struct(columns.visible).sql, columns.keyType.sql).toString
      .hashCode
  override def matcher(): Matcher = new AlertMatcher(this)
}

object AlertStep {
  private val json = new ObjectMapper
  private val added = new StructType().add("state", StringType).add("since", TimestampType)
    .add("severity", StringType)

  /**
   * Creates a step from JSON: `keys`, `members`, `order`, `time`, `severity`, `repeat`. The conditions are in
   * the columns `__when` and `__resolve`.
   */
  def apply(frame: Dataset[Row], text: String): AlertStep = {
    val tree = json.readTree(text)
    val members = mutable.ArrayBuffer.empty[String]
    tree.get("members").elements.forEachRemaining(name => members += name.asText)
    new AlertStep(
      RowsWithColumns.columns(frame, tree, added), tree.path("order").asText == "arrival",
      StepTime.withName(tree.get("time").asText), members.toSeq, tree.get("severity").asText,
      if (tree.hasNonNull("repeat")) tree.get("repeat").asLong else Long.MaxValue)
  }
}

/** The state of one group: since when it fires, when it was last reported, and the keys that fire. */
final class AlertMemory {
  var since, reported = 0L
  val firing = mutable.LinkedHashSet.empty[ByteBuffer]
}

final class AlertMatcher(step: AlertStep) extends Matcher {
  override type Memory = AlertMemory
  private val rows = new RowsWithColumns(step.columns)
  private val whenAt = step.columns.input.indexWhere(_.name == "__when")
  private val resolveAt = step.columns.input.indexWhere(_.name == "__resolve")
  private val severity = UTF8String.fromString(step.severity)
  private val memberOf = UnsafeProjection
    .create(step.members.map(name => step.columns.input.find(_.name == name).get), step.columns.input)

  override def empty: AlertMemory = new AlertMemory
  override def isEmpty(memory: AlertMemory): Boolean = memory.firing.isEmpty

  override def take(
      key: InternalRow, memory: AlertMemory, row: InternalRow, time: Long, out: StepOutput): Unit = {
    val member = ByteBuffer.wrap(memberOf(row).copy().getBytes)
    val wasFiring = memory.firing.nonEmpty
    if (isTrue(row, whenAt)) {
      memory.firing += member
      if (!wasFiring) {
        memory.since = time
        report(memory, row, time, AlertMatcher.FiringState, out)
      } else if (step.repeat != Long.MaxValue && time - memory.reported >= step.repeat)
        report(memory, row, time, AlertMatcher.RepeatState, out)
    } else if (isTrue(row, resolveAt) && memory.firing.remove(member) && memory.firing.isEmpty)
      report(memory, row, time, AlertMatcher.ResolvedState, out)
  }

  override def advance(key: InternalRow, memory: AlertMemory, time: Long, out: StepOutput): Unit = ()
  override def finish(key: InternalRow, memory: AlertMemory, out: StepOutput): Unit = ()
  override def due(memory: AlertMemory): Long = Long.MaxValue

  override def write(memory: AlertMemory, out: Output): Unit = {
    out.writeLong(memory.since)
    out.writeLong(memory.reported)
    out.writeVarInt(memory.firing.size, true)
    memory.firing.foreach(member => RowBytes.write(member.array, out))
  }

  override def read(in: Input): AlertMemory = {
    val memory = empty
    memory.since = in.readLong()
    memory.reported = in.readLong()
    (0 until in.readVarInt(true)).foreach(_ => memory.firing += ByteBuffer.wrap(RowBytes.read(in)))
    memory
  }

  private def report(
      memory: AlertMemory, row: InternalRow, time: Long, state: UTF8String, out: StepOutput): Unit = {
    memory.reported = time
    out.emit(0, rows.row(row, Array[Any](state, memory.since, severity), time))
  }

  private def isTrue(row: InternalRow, at: Int): Boolean = !row.isNullAt(at) && row.getBoolean(at)
}

object AlertMatcher {
  private val FiringState = UTF8String.fromString("firing")
  private val RepeatState = UTF8String.fromString("repeated")
  private val ResolvedState = UTF8String.fromString("resolved")
}
