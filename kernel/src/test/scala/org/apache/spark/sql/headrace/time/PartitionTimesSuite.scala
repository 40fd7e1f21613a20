package org.apache.spark.sql.headrace.time

import org.apache.spark.util.ManualClock

/** The event time that a source reaches: the minimum over the partitions that take part. */
class PartitionTimesSuite extends munit.FunSuite {
  private val clock = new ManualClock(0)

  private def source(idleMillis: Long = -1): PartitionTimes = {
    clock.setTime(0)
    new PartitionTimes(idleMillis, clock, partitioned = true)
  }

  private def complete(times: PartitionTimes, rows: (String, Long)*): Option[Long] = times
    .complete(None, rows.toMap, Set.empty)

  test("the slowest partition determines the time, which may stay behind") {
    val times = source()
    assertEquals(complete(times, "0" -> 100, "1" -> 20), Some(20L))
    assertEquals(complete(times, "1" -> 60), Some(60L))
    assertEquals(complete(times, "1" -> 40), Some(60L))
    assertEquals(times.slowest, Some("1" -> 60L))
  }

  test("a partition with unread records and no row yet holds the source back; an empty one does not") {
    val times = source()
    assertEquals(times.complete(None, Map("0" -> 100L), Set("1")), None)
    assertEquals(times.slowest, Some("1" -> PartitionTimes.Never))
    assertEquals(times.complete(None, Map("0" -> 110L), Set.empty), Some(110L))
  }

  test("a partition without a row for the timeout is left out, and takes part again with its next row") {
    val times = source(idleMillis = 30000)
    complete(times, "0" -> 100, "1" -> 20)
    clock.setTime(29999)
    assertEquals(complete(times, "1" -> 160), Some(100L))
    clock.setTime(30000)
    assertEquals(complete(times, "1" -> 160), Some(160L))
    assertEquals(complete(times, "0" -> 130), Some(130L))
  }

  test("the default timeout is 10 seconds, and the leading partition is never left out") {
    val times = source()
    complete(times, "0" -> 100, "1" -> 20)
    clock.setTime(9999)
    assertEquals(times.tick(), None)
    clock.setTime(10000)
    assertEquals(times.tick(), Some(100L))
    clock.setTime(99999)
    assertEquals(complete(times), Some(100L))
  }

  test("a partition with unread records is never idle") {
    val times = source(idleMillis = 1000)
    times.complete(None, Map("0" -> 100L, "1" -> 20L), Set("1"))
    clock.setTime(5000)
    assertEquals(times.complete(None, Map("0" -> 200L), Set("1")), Some(20L))
  }

  test("an idle source advances with the clock, not to it") {
    val times = source(idleMillis = 1000)
    complete(times, "0" -> 100, "1" -> 20)
    clock.setTime(999)
    assertEquals(times.tick(), None)
    clock.setTime(1000)
    assertEquals(times.tick(), Some(1100L))
    times.begin()
    assertEquals(times.tick(), None) // rows are in flight
  }

  test("rows without an event time do not count as seen, but reset the idle timeout") {
    val times = source(idleMillis = 1000)
    assertEquals(complete(times, "0" -> PartitionTimes.Never), None)
    complete(times, "0" -> 100, "1" -> 20)
    clock.setTime(900)
    complete(times, "0" -> 100, "1" -> PartitionTimes.Never)
    clock.setTime(1500)
    assertEquals(complete(times), Some(20L))
  }
}
