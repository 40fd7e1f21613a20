package org.apache.spark.sql.headrace.windows

import com.esotericsoftware.kryo.io.{Input, Output}

/** What a trigger remembers of one window. Immutable; its shape follows from the trigger that made it. */
sealed trait TriggerState
final case class CountState(rows: Long) extends TriggerState
final case class DeadlineState(at: Long) extends TriggerState
final case class PartStates(states: Vector[TriggerState], done: Vector[Boolean]) extends TriggerState
final case class StageState(at: Int, state: TriggerState) extends TriggerState
final case class WatermarkState(onTime: Boolean, early: TriggerState, late: TriggerState) extends TriggerState

/**
 * When a window emits. A trigger is immutable and keeps nothing: each method takes the window's state and
 * gives the next one. `passed` says whether the watermark is at or behind the window's end; `clock` is
 * processing time in microseconds.
 */
sealed trait Trigger extends Serializable {
  def start: TriggerState
  def add(state: TriggerState, rows: Long, clock: Long): TriggerState
  def fires(state: TriggerState, passed: Boolean, clock: Long): Boolean

  /** Told that the window fired: the state to go on with, or None where the trigger is finished. */
  def fired(state: TriggerState, passed: Boolean, clock: Long): Option[TriggerState]

  /** The window's end is ahead of the watermark again: its on-time pane is still to come. */
  def reopen(state: TriggerState): TriggerState

  /** The state of a session merged of others, the earliest first. */
  def merge(states: Seq[TriggerState]): TriggerState

  /** The clock at which it wants to be asked, or Long.MaxValue. */
  def deadline(state: TriggerState): Long

  /** The shortest period by the clock in it, or Long.MaxValue where it needs no clock. */
  def period: Long
  def write(state: TriggerState, out: Output): Unit
  def read(in: Input): TriggerState
}

/** A trigger without parts. */
sealed trait SimpleTrigger extends Trigger {
  override def reopen(state: TriggerState): TriggerState = state
  override def fired(state: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] = None
}

/** Fires once it has seen so many rows. */
final case class AfterCount(n: Long) extends SimpleTrigger {
  override val start: TriggerState = CountState(0)
  override def add(s: TriggerState, rows: Long, clock: Long): TriggerState = CountState(count(s) + rows)
  override def fires(s: TriggerState, passed: Boolean, clock: Long): Boolean = count(s) >= n
  override def merge(states: Seq[TriggerState]): TriggerState = CountState(states.map(count).sum)
  override def deadline(s: TriggerState): Long = Long.MaxValue
  override def period: Long = Long.MaxValue
  override def write(s: TriggerState, out: Output): Unit = out.writeVarLong(count(s), true)
  override def read(in: Input): TriggerState = CountState(in.readVarLong(true))
  private def count(s: TriggerState): Long = s.asInstanceOf[CountState].rows
}

/** Fires so long after the pane's first row, by the clock. */
final case class Every(length: Long) extends SimpleTrigger {
  override val start: TriggerState = DeadlineState(Long.MaxValue)
  override def add(s: TriggerState, rows: Long, clock: Long): TriggerState =
    if (rows > 0 && deadline(s) == Long.MaxValue) DeadlineState(clock + length) else s
  override def fires(s: TriggerState, passed: Boolean, clock: Long): Boolean = clock >= deadline(s)
  override def merge(states: Seq[TriggerState]): TriggerState = DeadlineState(states.map(deadline).min)
  override def deadline(s: TriggerState): Long = s.asInstanceOf[DeadlineState].at
  override def period: Long = length
  override def write(s: TriggerState, out: Output): Unit = out.writeLong(deadline(s))
  override def read(in: Input): TriggerState = DeadlineState(in.readLong())
}

/** Fires when the watermark passes the end; before it by `early` again and again, after it by `late`. */
final case class AfterWatermark(early: Option[Trigger], late: Option[Trigger]) extends Trigger {
  private val before = early.map(Repeatedly)
  private val after = late.map(Repeatedly)
  private val nothing = CountState(0)
  private def of(s: TriggerState) = s.asInstanceOf[WatermarkState]

  override val start: TriggerState = WatermarkState(onTime = false, started(before), started(after))

  override def add(s: TriggerState, rows: Long, clock: Long): TriggerState = of(s) match {
    case w if w.onTime => w.copy(late = after.fold(w.late)(_.add(w.late, rows, clock)))
    case w => w.copy(early = before.fold(w.early)(_.add(w.early, rows, clock)))
  }

  override def fires(s: TriggerState, passed: Boolean, clock: Long): Boolean = of(s) match {
    case w if w.onTime => after.exists(_.fires(w.late, passed, clock))
    case w => passed || before.exists(_.fires(w.early, passed, clock))
  }

  override def fired(s: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] = of(s) match {
    case w if w.onTime => Some(w.copy(late = after.get.fired(w.late, passed, clock).get))
    case w if passed => if (late.isEmpty) None else Some(w.copy(onTime = true))
    case w => Some(w.copy(early = before.get.fired(w.early, passed, clock).get))
  }

  override def reopen(s: TriggerState): TriggerState = of(s) match {
    case w if w.onTime => w.copy(onTime = false, early = started(before))
    case w => w
  }

  override def merge(states: Seq[TriggerState]): TriggerState = {
    val all = states.map(of)
    WatermarkState(
      all.forall(_.onTime),
      before.fold[TriggerState](nothing)(_.merge(all.map(_.early))),
      after.fold[TriggerState](nothing)(_.merge(all.map(_.late))))
  }

  override def deadline(s: TriggerState): Long = of(s) match {
    case w if w.onTime => after.fold(Long.MaxValue)(_.deadline(w.late))
    case w => before.fold(Long.MaxValue)(_.deadline(w.early))
  }

  override def period: Long = (early ++ late).map(_.period).minOption.getOrElse(Long.MaxValue)

  override def write(s: TriggerState, out: Output): Unit = {
    out.writeBoolean(of(s).onTime)
    before.foreach(_.write(of(s).early, out))
    after.foreach(_.write(of(s).late, out))
  }

  override def read(in: Input): TriggerState = {
    val onTime = in.readBoolean()
    val first = before.fold[TriggerState](nothing)(_.read(in))
    WatermarkState(onTime, first, after.fold[TriggerState](nothing)(_.read(in)))
  }

  private def started(part: Option[Trigger]): TriggerState = part.fold[TriggerState](nothing)(_.start)
}

/** Starts its part again each time that finishes; never finishes itself. */
final case class Repeatedly(part: Trigger) extends Trigger {
  override def start: TriggerState = part.start
  override def add(s: TriggerState, rows: Long, clock: Long): TriggerState = part.add(s, rows, clock)
  override def fires(s: TriggerState, passed: Boolean, clock: Long): Boolean = part.fires(s, passed, clock)
  override def fired(s: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] =
    Some(part.fired(s, passed, clock).getOrElse(part.start))
  override def reopen(s: TriggerState): TriggerState = part.reopen(s)
  override def merge(states: Seq[TriggerState]): TriggerState = part.merge(states)
  override def deadline(s: TriggerState): Long = part.deadline(s)
  override def period: Long = part.period
  override def write(s: TriggerState, out: Output): Unit = part.write(s, out)
  override def read(in: Input): TriggerState = part.read(in)
}

/** A trigger of several that run side by side. */
sealed trait ParallelTrigger extends Trigger {
  def parts: Seq[Trigger]
  protected def of(s: TriggerState): PartStates = s.asInstanceOf[PartStates]

  override def start: TriggerState =
    PartStates(parts.map(_.start).toVector, Vector.fill(parts.size)(false))

  override def add(s: TriggerState, rows: Long, clock: Long): TriggerState =
    each(s)((part, state) => part.add(state, rows, clock))

  override def reopen(s: TriggerState): TriggerState = each(s)((part, state) => part.reopen(state))

  override def merge(states: Seq[TriggerState]): TriggerState = PartStates(
    parts.indices.map(i => parts(i).merge(states.map(of(_).states(i)))).toVector,
    parts.indices.map(i => states.exists(of(_).done(i))).toVector)

  override def deadline(s: TriggerState): Long =
    parts.indices.filterNot(of(s).done).map(i => parts(i).deadline(of(s).states(i))).min

  override def period: Long = parts.map(_.period).min

  override def write(s: TriggerState, out: Output): Unit = parts.indices.foreach { i =>
    out.writeBoolean(of(s).done(i))
    parts(i).write(of(s).states(i), out)
  }

  override def read(in: Input): TriggerState = {
    val (done, states) = parts.map(part => (in.readBoolean(), part.read(in))).unzip
    PartStates(states.toVector, done.toVector)
  }

  /** Tells the parts that fire that they did: the next state, and which of those told have finished. */
  protected def tell(s: TriggerState, passed: Boolean, clock: Long): (PartStates, Seq[Boolean]) = {
    val told = parts.indices.map { i =>
      val state = of(s).states(i)
      if (of(s).done(i) || !parts(i).fires(state, passed, clock)) (state, of(s).done(i))
      else parts(i).fired(state, passed, clock).fold((state, true))((_, false))
    }
    (PartStates(told.map(_._1).toVector, told.map(_._2).toVector), told.map(_._2))
  }

  private def each(s: TriggerState)(next: (Trigger, TriggerState) => TriggerState): TriggerState = {
    val now = of(s)
    now.copy(states = parts.indices.map { i =>
      if (now.done(i)) now.states(i) else next(parts(i), now.states(i))
    }.toVector)
  }
}

/** Fires when any part does, and finishes with the first part that finishes. */
final case class AnyOf(parts: Seq[Trigger]) extends ParallelTrigger {
  override def fires(s: TriggerState, passed: Boolean, clock: Long): Boolean =
    parts.indices.exists(i => parts(i).fires(of(s).states(i), passed, clock))
  override def fired(s: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] = {
    val (next, finished) = tell(s, passed, clock)
    if (finished.contains(true)) None else Some(next)
  }
}

/** Fires when all parts would, and finishes when all have. */
final case class AllOf(parts: Seq[Trigger]) extends ParallelTrigger {
  override def fires(s: TriggerState, passed: Boolean, clock: Long): Boolean =
    parts.indices.forall(i => of(s).done(i) || parts(i).fires(of(s).states(i), passed, clock))
  override def fired(s: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] = {
    val (next, finished) = tell(s, passed, clock)
    if (finished.forall(identity)) None else Some(next)
  }
}

/** Fires as its body does, until `until` fires: that is the last time. */
final case class OrFinally(body: Trigger, until: Trigger) extends ParallelTrigger {
  override def parts: Seq[Trigger] = Seq(body, until)
  override def fires(s: TriggerState, passed: Boolean, clock: Long): Boolean =
    parts.indices.exists(i => parts(i).fires(of(s).states(i), passed, clock))
  override def fired(s: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] =
    if (until.fires(of(s).states(1), passed, clock)) None
    else body.fired(of(s).states(0), passed, clock).map(b => of(s).copy(states = of(s).states.updated(0, b)))
}

/** Its parts one after the other: each takes over when the one before has finished. */
final case class InSequence(parts: Seq[Trigger]) extends Trigger {
  private def of(s: TriggerState) = s.asInstanceOf[StageState]
  private def part(s: TriggerState) = parts(of(s).at)

  override def start: TriggerState = StageState(0, parts.head.start)
  override def add(s: TriggerState, rows: Long, clock: Long): TriggerState =
    of(s).copy(state = part(s).add(of(s).state, rows, clock))
  override def fires(s: TriggerState, passed: Boolean, clock: Long): Boolean =
    part(s).fires(of(s).state, passed, clock)

  override def fired(s: TriggerState, passed: Boolean, clock: Long): Option[TriggerState] =
    part(s).fired(of(s).state, passed, clock) match {
      case Some(state) => Some(of(s).copy(state = state))
      case None if of(s).at + 1 < parts.size => Some(StageState(of(s).at + 1, parts(of(s).at + 1).start))
      case None => None
    }

  override def reopen(s: TriggerState): TriggerState = of(s).copy(state = part(s).reopen(of(s).state))

  override def merge(states: Seq[TriggerState]): TriggerState = {
    val furthest = states.map(of(_).at).max
    StageState(furthest, parts(furthest).merge(states.map(of).filter(_.at == furthest).map(_.state)))
  }

  override def deadline(s: TriggerState): Long = part(s).deadline(of(s).state)
  override def period: Long = parts.map(_.period).min

  override def write(s: TriggerState, out: Output): Unit = {
    out.writeVarInt(of(s).at, true)
    part(s).write(of(s).state, out)
  }

  override def read(in: Input): TriggerState = {
    val at = in.readVarInt(true)
    StageState(at, parts(at).read(in))
  }
}
