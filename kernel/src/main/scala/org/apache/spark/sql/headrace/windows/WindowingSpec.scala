package org.apache.spark.sql.headrace.windows

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/** Assignment of rows to windows. Lengths are microseconds. */
sealed trait WindowKind extends Serializable
final case class Sliding(size: Long, every: Long, offset: Long) extends WindowKind
final case class Cumulating(size: Long, step: Long, offset: Long) extends WindowKind
final case class Session(gap: Long) extends WindowKind
case object GlobalWindow extends WindowKind

/** Windows whose bounds are columns of the rows: the last two key columns. */
case object Attached extends WindowKind
final case class Count(size: Long, every: Long) extends WindowKind
final case class Delta(by: Double) extends WindowKind
case object Punctuation extends WindowKind
case object Landmark extends WindowKind
final case class Reset(every: Long, step: Long) extends WindowKind
final case class Trailing(size: Long) extends WindowKind

/** Relation between the panes of one window. */
object PaneMode extends Enumeration {
  val Discarding, Accumulating, Retracting = Value
}

/**
 * A windowed step as declared by Python.
 *
 * @param arrival rows are processed in arrival order (order-dependent kinds)
 * @param clockTime the clock is the watermark: ingestion and processing time
 * @param ttl time after its last row, by the watermark, at which a key's state is dropped; 0 for never
 * @param eager with clock timers, process every open window in every batch: in virtual time the watermark
 *   advances while the clock stands still
 */
final case class WindowingSpec(kind: WindowKind, trigger: Trigger, lateness: Long, mode: PaneMode.Value,
    arrival: Boolean, clockTime: Boolean, text: String, ttl: Long = 0, eager: Boolean = false) {
  /** True if timers use the clock instead of the watermark. */
  def byClock: Boolean = clockTime || trigger.period != Long.MaxValue

  /** True if overlapping windows can share slices: each fires once, so all see the same slice. */
  def sharesSlices: Boolean = kind match {
    case Sliding(size, every, _) => size > every && firesOnce
    case Cumulating(size, step, _) => size > step && firesOnce
    case _ => false
  }

  private def firesOnce: Boolean = !byClock && lateness == 0 && trigger == AfterWatermark(None, None)

  /** True if a window takes every row that is not late: its trigger does not finish early. */
  def takesAll: Boolean = trigger match {
    case _: Repeatedly => true
    case AfterWatermark(_, late) => late.isDefined || lateness == 0
    case _ => false
  }

  /** True if windows depend on the order of rows. */
  def ordered: Boolean = kind match {
    case _: Sliding | _: Cumulating | _: Session | GlobalWindow | Attached => false
    case _ => true
  }
}

object WindowingSpec {
  private val json = new ObjectMapper

  def parse(text: String): WindowingSpec = {
    val tree = json.readTree(text)
    WindowingSpec(
      kind(tree.get("window")), trigger(tree.get("trigger")), long(tree, "lateness", 0),
      PaneMode.withName(tree.get("mode").asText.capitalize),
      arrival = tree.get("window").path("order").asText == "arrival",
      clockTime = tree.path("time").asText == "clock", text, long(tree, "ttl", 0))
  }

  private def kind(node: JsonNode): WindowKind = node.get("kind").asText match {
    case "tumbling" => Sliding(long(node, "size"), long(node, "size"), long(node, "offset", 0))
    case "sliding" => Sliding(long(node, "size"), long(node, "every"), long(node, "offset", 0))
    case "cumulating" => Cumulating(long(node, "size"), long(node, "step"), long(node, "offset", 0))
    case "attached" => Attached
    case "session" => Session(long(node, "gap"))
    case "global" => GlobalWindow
    case "count" => Count(long(node, "size"), long(node, "every", long(node, "size")))
    case "delta" => Delta(node.get("by").asDouble)
    case "punctuation" => Punctuation
    case "landmark" if node.hasNonNull("reset") => Reset(long(node, "reset"), long(node, "step"))
    case "landmark" => Landmark
    case "trailing" => Trailing(long(node, "size"))
    case other => throw new IllegalArgumentException(s"unknown window kind: $other")
  }

  private def trigger(node: JsonNode): Trigger = {
    val entry = node.properties.asScala.head
    val arg = entry.getValue
    entry.getKey match {
      case "every" => Every(arg.asLong)
      case "after_count" => AfterCount(arg.asLong)
      case "after_watermark" => AfterWatermark(part(arg, "early"), part(arg, "late"))
      case "repeatedly" => Repeatedly(trigger(arg))
      case "any_of" => AnyOf(parts(arg))
      case "all_of" => AllOf(parts(arg))
      case "in_sequence" => InSequence(parts(arg))
      case "or_finally" => OrFinally(trigger(arg.get(0)), trigger(arg.get(1)))
      case other => throw new IllegalArgumentException(s"unknown trigger: $other")
    }
  }

  private def parts(node: JsonNode): Seq[Trigger] = node.elements.asScala.map(trigger).toVector
  private def part(node: JsonNode, name: String): Option[Trigger] =
    if (node.hasNonNull(name)) Some(trigger(node.get(name))) else None
  private def long(node: JsonNode, name: String, default: => Long): Long =
    if (node.hasNonNull(name)) node.get(name).asLong else default
  private def long(node: JsonNode, name: String): Long =
    long(node, name, throw new IllegalArgumentException(s"$name is missing in $node"))
}
