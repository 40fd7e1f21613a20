package org.apache.spark.sql.headrace.windows

import com.esotericsoftware.kryo.io.{Input, Output}

class TriggerSuite extends munit.FunSuite {

  /** Applies events (rows, passed, clock) and returns at which ones the trigger fires. */
  private def firings(trigger: Trigger, events: (Int, Boolean, Long)*): Seq[Int] = {
    var state: Option[TriggerState] = Some(trigger.start)
    events.zipWithIndex.flatMap { case ((rows, passed, clock), i) =>
      val added = state.map(s => copy(trigger, trigger.add(s, rows, clock)))
      val fires = added.exists(trigger.shouldFire(_, passed, clock))
      state = if (fires) trigger.afterFiring(added.get, passed, clock) else added
      Option.when(fires)(i)
    }
  }

  private def copy(trigger: Trigger, state: TriggerState): TriggerState = {
    val out = new Output(64, -1)
    trigger.write(state, out)
    trigger.read(new Input(out.toBytes))
  }

  test("after_count fires once") {
    assertEquals(firings(AfterCount(2), (1, false, 0), (1, false, 0), (2, false, 0)), Seq(1))
  }

  test("repeatedly restarts its part") {
    val trigger = Repeatedly(AfterCount(2))
    assertEquals(firings(trigger, (2, false, 0), (1, false, 0), (1, false, 0)), Seq(0, 2))
  }

  test("every fires a period after the first row") {
    assertEquals(Every(10).deadline(Every(10).add(Every(10).start, 1, 5)), 15L)
    assertEquals(firings(Every(10), (1, false, 5), (1, false, 14), (0, false, 15)), Seq(2))
  }

  test("after_watermark fires early, on time and late") {
    val trigger = AfterWatermark(Some(AfterCount(2)), Some(AfterCount(1)))
    val events = Seq((2, false, 0L), (1, false, 0L), (0, true, 0L), (1, true, 0L), (1, true, 0L))
    assertEquals(firings(trigger, events: _*), Seq(0, 2, 3, 4))
  }

  test("after_watermark without late firings finishes on time") {
    val trigger = AfterWatermark(None, None)
    assertEquals(firings(trigger, (1, false, 0), (0, true, 0), (1, true, 0)), Seq(1))
  }

  test("any_of and all_of combine their parts") {
    val parts = Seq(AfterCount(2), AfterCount(3))
    assertEquals(firings(AnyOf(parts), (2, false, 0), (1, false, 0)), Seq(0))
    assertEquals(firings(AllOf(parts), (2, false, 0), (1, false, 0)), Seq(1))
  }

  test("in_sequence runs its parts one after the other") {
    val trigger = InSequence(Seq(AfterCount(1), AfterCount(2)))
    assertEquals(firings(trigger, (1, false, 0), (1, false, 0), (1, false, 0)), Seq(0, 2))
  }

  test("or_finally ends with its second part") {
    val trigger = OrFinally(Repeatedly(AfterCount(1)), AfterCount(3))
    assertEquals(firings(trigger, (1, false, 0), (1, false, 0), (1, false, 0), (1, false, 0)), Seq(0, 1, 2))
  }

  test("merged sessions add their counts and keep the earliest deadline") {
    val count = AfterCount(3)
    assert(count.shouldFire(count.merge(Seq(CountState(1), CountState(2))), passed = false, 0))
    assertEquals(Every(10).deadline(Every(10).merge(Seq(DeadlineState(9), DeadlineState(4)))), 4L)
  }
}
