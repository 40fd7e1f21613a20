package org.apache.spark.sql.headrace.windows

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.operators._
import org.apache.spark.sql.headrace.operators.keyed.{KeyedLogic, KeyedStep, StepColumns}

/**
 * A windowed step.
 *
 * @param plan the aggregates of the input
 * @param streaming true if the input is a stream
 */
final class WindowStep private (@transient plan: GroupedPlan, @transient declared: Aggregates,
    val spec: WindowingSpec, streaming: Boolean)
    extends KeyedStep {
  /** True if results depend on the order of rows. */
  private val ordered = spec.ordered || !declared.commutative

  /** True if rows of one key and slice may be pre-aggregated. */
  private val preAggregates = streaming && WindowGrid.of(spec.kind).isDefined && !spec.clockTime &&
    !ordered && spec.takesAll && declared.fixedSize

  private val raw = plan.input.filter(a => ordered || a.name != "__position")
  private val added = if (preAggregates) PreAggregate.columns else Nil
  val layout = new WindowLayout(raw, plan.keys, plan.names, declared.types, spec.kind)
  override val columns: StepColumns = new StepColumns(raw, added, plan.keys.map(_.name),
    Seq("main" -> layout.main), whole = Some(plan.input), window = layout.window)
  val aggregates: Aggregates = if (raw.size == plan.input.size) declared else declared.withInput(raw)

  /** True if the state holds the rows of open sessions. */
  def keepsSessions: Boolean = layout.isChangelog && spec.kind.isInstanceOf[Session]

  /** True if overlapping windows share slices. */
  val slices: Boolean = spec.sharesSlices && declared.commutative
  override def time: StepTime.Value = StepTime.of(spec.byClock)
  override def clockTime: Boolean = spec.clockTime
  override def variable: String = "windows"
  override def hasAge: Boolean = spec.ttl > 0

  /** True if windows are processed only at times that follow from their bounds. */
  override def dueByTime: Boolean = !spec.byClock && !hasAge && !slices && WindowStep.isAligned(spec.kind)

  override def logic(counts: Counts): KeyedLogic = {
    val panes = new Panes(spec, aggregates, counts, layout)
    val logic = windows(panes)
    if (hasAge) new ExpiringLogic(logic, panes, spec.ttl) else logic
  }

  private def windows(panes: Panes): KeyedLogic = spec.kind match {
    case _: Sliding | _: Cumulating | GlobalWindow =>
      val grid = WindowGrid.of(spec.kind).get
      if (slices) new SlicedWindows(panes, grid) else new AlignedWindows(panes, Some(grid))
    case Attached => new AlignedWindows(panes, None)
    case Session(gap) if layout.isChangelog => new ChangelogSessions(panes, gap)
    case Session(gap) => new SessionWindows(panes, gap)
    case c: Count => new CountWindows(panes, c)
    case d: Delta => new DeltaWindows(panes, d)
    case Punctuation => new PunctuatedWindows(panes)
    case Landmark => new LandmarkWindows(panes)
    case r: Reset => new ResetWindows(panes, r)
    case Trailing(size) => new TrailingWindows(panes, size)
  }

  override def beforeShuffle(session: SparkSession, input: LogicalPlan, counts: Counts): LogicalPlan =
    if (!preAggregates) input else PlannedNode.add(session, PreAggregate(this, input))

  /** Returns a step with the same aggregates, in buffers of its own, and another declaration. */
  def withSpec(text: String): WindowStep =
    new WindowStep(plan, plan.aggregates, WindowingSpec.parse(text), streaming)
}

object WindowStep {
  /** Session setting for virtual time: process every open window in every batch. */
  val Eager = "spark.headrace.windows.eager"

  /** True for windows whose bounds do not depend on their other rows. */
  private def isAligned(kind: WindowKind): Boolean = kind == Attached || WindowGrid.of(kind).isDefined

  /**
   * Creates a step from analysed plans.
   *
   * @param frame the input, with internal columns; a stream has a watermark unless the step uses clock time
   * @param grouped `frame` grouped by key and aggregated; only its plan is used
   * @param text the declaration as JSON
   */
  def apply(frame: Dataset[Row], grouped: Dataset[Row], text: String): WindowStep = {
    val spec = WindowingSpec.parse(text)
    val retracts = isAligned(spec.kind) // other windows take removed rows out of those they keep
    val read = GroupedPlan(frame, grouped, retracts)
    val present = if (retracts) Retractions.removes(read.input).map(Retractions.present).toSeq else Nil
    val plan = read
      .copy(names = read.names ++ present.map(_ => Retractions.Present), results = read.results ++ present)
    val eager = frame.isStreaming && frame.sparkSession.conf.get(Eager, "false").toBoolean
    new WindowStep(plan, plan.aggregates, spec.copy(eager = eager), frame.isStreaming)
  }
}
