package org.apache.spark.sql.headrace.windows

import com.esotericsoftware.kryo.io.{Input, Output}

/** State of a trigger in one window. Immutable; its shape depends on the trigger. */
sealed trait TriggerState
final case class CountState(rows: Long) extends TriggerState
final case class DeadlineState(at: Long) extends TriggerState
final case class PartStates(states: Vector[TriggerState], done: Vector[Boolean]) extends TriggerState
final case class StageState(at: Int, state: TriggerState) extends TriggerState
final case class WatermarkState(onTime: Boolean, early: TriggerState, late: TriggerState) extends TriggerState

/**
 * Decides when a window fires. Triggers are stateless: each method takes the window's state and returns the
 * next one. `passed` is true if the watermark has reached the window's end; `clock` is processing time in
 * microseconds.
 */
sealed trait Trigger extends Serializable {
  def start: TriggerState
  def add(state: TriggerState, rows: Long, clock: Long): TriggerState
  def shouldFire(state: TriggerState, passed: Boolean, clock: Long): Boolean

  /** State after the window fired; None if the trigger has finished. */
  def afterFiring(state: TriggerState, passed: Boolean, clock: Long): Option[TriggerState]

  /** Called when a merge moves the window's end ahead of the watermark again. */
  def reopen(state: TriggerState): TriggerState

  /** State of a session merged from others, earliest first. */
  def merge(states: Seq[TriggerState]): TriggerState

  /** Clock time at which the trigger must be checked, or Long.MaxValue. */
  def deadline(state: TriggerState): Long

  /** Shortest clock period in the trigger, or Long.MaxValue if it needs no clock. */
  def period: Long
  def write(state: TriggerState, out: Output): Unit
  def read(in: Input): TriggerState
}

sealed trait SimpleTrigger extends Trigger {
  override def reopen(state: TriggerState): TriggerState = state
  override def afterFiring(state: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] = None
}

final case class AfterCount(n: Long) extends SimpleTrigger {
  override val start: TriggerState = CountState(0)
  override def add(s: TriggerState, rows: Long, clock: Long): TriggerState = CountState(count(s) + rows)
  override def shouldFire(s: TriggerState, passed: Boolean, clock: Long): Boolean = count(s) >= n
  override def merge(states: Seq[TriggerState]): TriggerState = CountState(states.map(count).sum)
  override def deadline(s: TriggerState): Long = Long.MaxValue
  override def period: Long = Long.MaxValue
  override def write(s: TriggerState, out: Output): Unit = out.writeVarLong(count(s), true)
  override def read(in: Input): TriggerState = CountState(in.readVarLong(true))
  private def count(s: TriggerState): Long = s.asInstanceOf[CountState].rows
}

/** Fires `length` after the pane's first row, by the clock. */
final case class Every(length: Long) extends SimpleTrigger {
  override val start: TriggerState = DeadlineState(Long.MaxValue)
  override def add(s: TriggerState, rows: Long, clock: Long): TriggerState =
    if (rows > 0 && deadline(s) == Long.MaxValue) DeadlineState(clock + length) else s
  override def shouldFire(s: TriggerState, passed: Boolean, clock: Long): Boolean = clock >= deadline(s)
  override def merge(states: Seq[TriggerState]): TriggerState = DeadlineState(states.map(deadline).min)
  override def deadline(s: TriggerState): Long = s.asInstanceOf[DeadlineState].at
  override def period: Long = length
  override def write(s: TriggerState, out: Output): Unit = out.writeLong(deadline(s))
  override def read(in: Input): TriggerState = DeadlineState(in.readLong())
}

/** Fires when the watermark passes the end, repeatedly by `early` before that and by `late` after. */
final case class AfterWatermark(early: Option[Trigger], late: Option[Trigger]) extends Trigger {
  private val before = early.map(Repeatedly)
  private val after = late.map(Repeatedly)
  private val nothing = CountState(0)
  private def cast(s: TriggerState) = s.asInstanceOf[WatermarkState]
  override val start: TriggerState = WatermarkState(onTime = false, startOf(before), startOf(after))

  override def add(s: TriggerState, rows: Long, clock: Long): TriggerState = cast(s) match {
    case w if w.onTime => w.copy(late = after.fold(w.late)(_.add(w.late, rows, clock)))
    case w => w.copy(early = before.fold(w.early)(_.add(w.early, rows, clock)))
  }

  override def shouldFire(s: TriggerState, passed: Boolean, clock: Long): Boolean = cast(s) match {
    case w if w.onTime => after.exists(_.shouldFire(w.late, passed, clock))
    case w => passed || before.exists(_.shouldFire(w.early, passed, clock))
  }

  override def afterFiring(s: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] =
    cast(s) match {
      case w if w.onTime => Some(w.copy(late = after.get.afterFiring(w.late, passed, clock).get))
      case w if passed => if (late.isEmpty) None else Some(w.copy(onTime = true))
      case w => Some(w.copy(early = before.get.afterFiring(w.early, passed, clock).get))
    }

  override def reopen(s: TriggerState): TriggerState = cast(s) match {
    case w if w.onTime => w.copy(onTime = false, early = startOf(before))
    case w => w
  }

  override def merge(states: Seq[TriggerState]): TriggerState = {
    val all = states.map(cast)
    WatermarkState(all.forall(_.onTime), before.fold[TriggerState](nothing)(_.merge(all.map(_.early))),
      after.fold[TriggerState](nothing)(_.merge(all.map(_.late))))
  }

  override def deadline(s: TriggerState): Long = cast(s) match {
    case w if w.onTime => after.fold(Long.MaxValue)(_.deadline(w.late))
    case w => before.fold(Long.MaxValue)(_.deadline(w.early))
  }

  override def period: Long = (early ++ late).map(_.period).minOption.getOrElse(Long.MaxValue)

  override def write(s: TriggerState, out: Output): Unit = {
    out.writeBoolean(cast(s).onTime)
    before.foreach(_.write(cast(s).early, out))
    after.foreach(_.write(cast(s).late, out))
  }

  override def read(in: Input): TriggerState = {
    val onTime = in.readBoolean()
    val first = before.fold[TriggerState](nothing)(_.read(in))
    WatermarkState(onTime, first, after.fold[TriggerState](nothing)(_.read(in)))
  }

  private def startOf(part: Option[Trigger]): TriggerState = part.fold[TriggerState](nothing)(_.start)
}

/** Restarts its part whenever it finishes; never finishes itself. */
final case class Repeatedly(part: Trigger) extends Trigger {
  override def start: TriggerState = part.start
  override def add(s: TriggerState, rows: Long, clock: Long): TriggerState = part.add(s, rows, clock)
  override def shouldFire(s: TriggerState, passed: Boolean, clock: Long): Boolean = part
    .shouldFire(s, passed, clock)
  override def afterFiring(s: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] =
    Some(part.afterFiring(s, passed, clock).getOrElse(part.start))
  override def reopen(s: TriggerState): TriggerState = part.reopen(s)
  override def merge(states: Seq[TriggerState]): TriggerState = part.merge(states)
  override def deadline(s: TriggerState): Long = part.deadline(s)
  override def period: Long = part.period
  override def write(s: TriggerState, out: Output): Unit = part.write(s, out)
  override def read(in: Input): TriggerState = part.read(in)
}

sealed trait ParallelTrigger extends Trigger {
  def parts: Seq[Trigger]
  protected def cast(s: TriggerState): PartStates = s.asInstanceOf[PartStates]
  override def start: TriggerState = PartStates(parts.map(_.start).toVector, Vector.fill(parts.size)(false))
  override def add(s: TriggerState, rows: Long, clock: Long): TriggerState =
    each(s)((part, state) => part.add(state, rows, clock))
  override def reopen(s: TriggerState): TriggerState = each(s)((part, state) => part.reopen(state))

  override def merge(states: Seq[TriggerState]): TriggerState =
    PartStates(parts.indices.map(i => parts(i).merge(states.map(cast(_).states(i)))).toVector,
      parts.indices.map(i => states.exists(cast(_).done(i))).toVector)

  override def deadline(s: TriggerState): Long = parts.indices.filterNot(cast(s).done)
    .map(i => parts(i).deadline(cast(s).states(i))).min
  override def period: Long = parts.map(_.period).min

  override def write(s: TriggerState, out: Output): Unit = parts.indices.foreach { i =>
    out.writeBoolean(cast(s).done(i))
    parts(i).write(cast(s).states(i), out)
  }

  override def read(in: Input): TriggerState = {
    val (done, states) = parts.map(part => (in.readBoolean(), part.read(in))).unzip
    PartStates(states.toVector, done.toVector)
  }

  /** Fires the parts that fire: the next state, and which parts have finished. */
  protected def fireParts(s: TriggerState, passed: Boolean, clock: Long): (PartStates, Seq[Boolean]) = {
    val outcomes = parts.indices.map { i =>
      val state = cast(s).states(i)
      if (cast(s).done(i) || !parts(i).shouldFire(state, passed, clock)) (state, cast(s).done(i))
      else parts(i).afterFiring(state, passed, clock).fold((state, true))((_, false))
    }
    (PartStates(outcomes.map(_._1).toVector, outcomes.map(_._2).toVector), outcomes.map(_._2))
  }

  private def each(s: TriggerState)(next: (Trigger, TriggerState) => TriggerState): TriggerState = {
    val now = cast(s)
    now.copy(states = parts.indices.map { i =>
      if (now.done(i)) now.states(i) else next(parts(i), now.states(i))
    }.toVector)
  }
}

/** Fires when any part does; finishes with the first part that finishes. */
final case class AnyOf(parts: Seq[Trigger]) extends ParallelTrigger {
  override def shouldFire(s: TriggerState, passed: Boolean, clock: Long): Boolean = parts.indices
    .exists(i => parts(i).shouldFire(cast(s).states(i), passed, clock))
  override def afterFiring(s: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] = {
    val (next, finished) = fireParts(s, passed, clock)
    if (finished.contains(true)) None else Some(next)
  }
}

/** Fires when all parts would; finishes when all have. */
final case class AllOf(parts: Seq[Trigger]) extends ParallelTrigger {
  override def shouldFire(s: TriggerState, passed: Boolean, clock: Long): Boolean = parts.indices
    .forall(i => cast(s).done(i) || parts(i).shouldFire(cast(s).states(i), passed, clock))
  override def afterFiring(s: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] = {
    val (next, finished) = fireParts(s, passed, clock)
    if (finished.forall(identity)) None else Some(next)
  }
}

/** Fires like its body; finishes when `until` fires. */
final case class OrFinally(body: Trigger, until: Trigger) extends ParallelTrigger {
  override def parts: Seq[Trigger] = Seq(body, until)
  override def shouldFire(s: TriggerState, passed: Boolean, clock: Long): Boolean = parts.indices
    .exists(i => parts(i).shouldFire(cast(s).states(i), passed, clock))
  override def afterFiring(s: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] =
    if (until.shouldFire(cast(s).states(1), passed, clock)) None
    else body.afterFiring(cast(s).states(0), passed, clock)
      .map(b => cast(s).copy(states = cast(s).states.updated(0, b)))
}

/** Runs its parts one after the other (Beam's AfterEach). */
final case class InSequence(parts: Seq[Trigger]) extends Trigger {
  private def cast(s: TriggerState) = s.asInstanceOf[StageState]
  private def part(s: TriggerState) = parts(cast(s).at)
  override def start: TriggerState = StageState(0, parts.head.start)
  override def add(s: TriggerState, rows: Long, clock: Long): TriggerState = cast(s)
    .copy(state = part(s).add(cast(s).state, rows, clock))
  override def shouldFire(s: TriggerState, passed: Boolean, clock: Long): Boolean = part(s)
    .shouldFire(cast(s).state, passed, clock)

  override def afterFiring(s: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] =
    part(s).afterFiring(cast(s).state, passed, clock) match {
      case Some(state) => Some(cast(s).copy(state = state))
      case None if cast(s).at + 1 < parts.size =>
        Some(StageState(cast(s).at + 1, parts(cast(s).at + 1).start))
      case None => None
    }

  override def reopen(s: TriggerState): TriggerState = cast(s).copy(state = part(s).reopen(cast(s).state))

  override def merge(states: Seq[TriggerState]): TriggerState = {
    val furthest = states.map(cast(_).at).max
    StageState(furthest, parts(furthest).merge(states.map(cast).filter(_.at == furthest).map(_.state)))
  }

  override def deadline(s: TriggerState): Long = part(s).deadline(cast(s).state)
  override def period: Long = parts.map(_.period).min

  override def write(s: TriggerState, out: Output): Unit = {
    out.writeVarInt(cast(s).at, true)
    part(s).write(cast(s).state, out)
  }

  override def read(in: Input): TriggerState = {
    val at = in.readVarInt(true)
    StageState(at, parts(at).read(in))
  }
}
