package org.apache.spark.sql.headrace.dedup

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.GenericRowWithSchema
import org.apache.spark.sql.execution.python.streaming.benchmark.InMemoryStatefulProcessorHandleImpl
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker
import org.apache.spark.sql.headrace.operators.Counts
import org.apache.spark.sql.streaming.{ExpiredTimerInfo, OutputMode, TimeMode, TimerValues}
import org.apache.spark.sql.types.StructType

class DeduplicateSuite extends munit.FunSuite {
  private val schema = StructType.fromDDL("v string")
  private val key = Row("k")

  /** The rows of one key over Spark's in-memory state. */
  private class Run(within: Option[Double]) {
    val counts: Counts = Counts.local()
    private val mode = if (within.isDefined) TimeMode.EventTime() else TimeMode.None()
    private val handle = new InMemoryStatefulProcessorHandleImpl(
      mode, ExpressionEncoder(schema).asInstanceOf[ExpressionEncoder[Any]])
    private val step = new Deduplicate(within.map(micros), within.isDefined, counts)
    step.setHandle(handle)
    step.init(OutputMode.Append(), mode)

    /** Processes rows `(v, seconds, offset)` at a watermark, then the timers that are due. */
    def at(watermark: Double)(rows: (String, Option[Double], Int)*): Seq[String] = {
      ImplicitGroupingKeyTracker.setImplicitKey(key)
      val now = times(watermark)
      val input = rows.map { case (v, time, offset) =>
        val data = new GenericRowWithSchema(Array[Any](v), schema)
        Row(data, time.map(micros).orNull, Row("s", "0", offset.toLong))
      }
      val output = step.handleInputRows(key, input.iterator, now).toVector.map { row =>
        if (row.getString(0) == "main") row.getStruct(1).getString(0)
        else s"late: ${row.getStruct(2).getString(0)} ${row.getStruct(2).getString(4)}"
      }
      handle.listTimers().toVector.filter(_ <= now.getCurrentWatermarkInMs()).foreach { due =>
        handle.deleteTimer(due)
        step.handleExpiredTimer(key, now,
          new ExpiredTimerInfo {
            override def getExpiryTimeInMs(): Long = due
          })
      }
      output
    }
  }

  private def micros(seconds: Double): Long = math.round(seconds * 1000000)
  private def times(watermark: Double) = new TimerValues {
    override def getCurrentProcessingTimeInMs(): Long = 0
    override def getCurrentWatermarkInMs(): Long = math.round(watermark * 1000)
  }

  test("a row less than `within` away from an accepted one is a duplicate, before and after it") {
    val rows = new Run(Some(10))
    assertEquals(
      rows.at(0)(("x", Some(20), 1), ("y", Some(29.999999), 2), ("z", Some(10.000001), 3)), Seq("x"))
    assertEquals(rows.at(0)(("y", Some(30), 1), ("z", Some(10), 2)), Seq("y", "z"))
    assertEquals(rows.counts.value.get("duplicates"), 2: java.lang.Long)
  }

  test("the first row in arrival order is accepted") {
    assertEquals(new Run(Some(10)).at(0)(("y", Some(5), 2), ("x", Some(9), 1)), Seq("x"))
  }

  test("a row whose `within` the watermark has reached is late") {
    val rows = new Run(Some(10))
    assertEquals(rows.at(15)(("x", Some(5.001), 1)), Seq("x"))
    assertEquals(
      rows.at(15)(("y", Some(5), 1), ("z", None, 2)), Seq("late: y too_late", "late: z no_event_time"))
  }

  test("an accepted time is dropped when no row that is not late can be its duplicate") {
    val rows = new Run(Some(10))
    rows.at(0)(("x", Some(5), 1))
    assertEquals(rows.at(24.999)(("y", Some(14.9995), 1)), Nil)
    assertEquals(rows.at(25)(("y", Some(14.9999), 1)), Seq("late: y too_late"))
    assertEquals(rows.at(26)(("y", Some(16.001), 1)), Seq("y"))
  }

  test("without `within` a value is accepted once") {
    val rows = new Run(None)
    assertEquals(rows.at(0)(("x", Some(5), 1), ("y", None, 2)), Seq("x"))
    assertEquals(rows.at(0)(("z", Some(500), 1)), Nil)
  }
}
