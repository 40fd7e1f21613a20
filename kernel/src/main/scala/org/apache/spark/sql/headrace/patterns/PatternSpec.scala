package org.apache.spark.sql.headrace.patterns

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

object Contiguity extends Enumeration {
  val Next, FollowedBy, FollowedByAny, NotNext, NotFollowedBy = Value
}

/** A step with a condition, a group of elements, or alternatives. */
sealed trait ElementBody
final case class ElementStep(step: Int, condition: EdgeTest) extends ElementBody
final case class ElementGroup(elements: IndexedSeq[PatternElement]) extends ElementBody
final case class Alternatives(alternatives: IndexedSeq[IndexedSeq[PatternElement]]) extends ElementBody

/**
 * One element of a pattern.
 *
 * @param from the minimum number of repeats; `to` is None for no maximum
 * @param once no number was declared: a single row
 * @param inner contiguity between repeats
 * @param until the condition that ends the repeats
 * @param gap the maximum time between a repeat and the row before it, exclusive
 */
final case class PatternElement(contiguity: Contiguity.Value, body: ElementBody, once: Boolean, from: Int,
    to: Option[Int], optional: Boolean, greedy: Boolean, inner: Contiguity.Value, until: Option[EdgeTest],
    gap: Option[Long]) {
  def looping: Boolean = !once && to.isEmpty
  def negated: Boolean = contiguity == Contiguity.NotNext || contiguity == Contiguity.NotFollowedBy
}

/** Where the search continues after a match. */
sealed trait SkipStrategy
object SkipStrategy {
  case object None extends SkipStrategy
  case object PastLast extends SkipStrategy
  case object ToNext extends SkipStrategy
  final case class ToFirst(step: Int) extends SkipStrategy
  final case class ToLast(step: Int) extends SkipStrategy
}

/**
 * A pattern as declared by Python. Lengths are microseconds.
 *
 * @param steps the step names in pattern order; elements refer to them by index
 * @param conditions the condition texts; tests refer to them by index
 * @param within the maximum time between the first and the last row; `between`: between two rows
 * @param arrival rows are processed in arrival order
 * @param clockTime the clock is the watermark: ingestion and processing time
 * @param select the measures; none for one array of rows per step
 * @param counted outputs whose rows are only counted
 */
final case class PatternSpec(steps: IndexedSeq[String], conditions: IndexedSeq[String],
    elements: IndexedSeq[PatternElement], keys: Seq[String], within: Option[Long], between: Option[Long],
    skip: SkipStrategy, arrival: Boolean, clockTime: Boolean, select: Option[Seq[(String, String)]],
    counted: Set[String], text: String)

object PatternSpec {
  private val json = new ObjectMapper

  def parse(text: String): PatternSpec = {
    val tree = json.readTree(text)
    val steps = texts(tree.get("steps"))
    PatternSpec(
      steps, texts(tree.get("conditions")), elements(tree.get("elements")), texts(tree.get("keys")),
      long(tree, "within"), long(tree, "between"), skip(tree.get("skip"), steps),
      arrival = tree.path("order").asText == "arrival", clockTime = tree.path("time").asText == "clock",
      if (tree.hasNonNull("select")) Some(tree.get("select").elements.asScala.map(pair).toVector) else None,
      if (tree.hasNonNull("counted")) texts(tree.get("counted")).toSet else Set.empty, text)
  }

  private def elements(node: JsonNode): IndexedSeq[PatternElement] = node.elements.asScala.map(element)
    .toVector

  private def element(node: JsonNode): PatternElement = PatternElement(
    contiguity(node.get("contiguity").asText), body(node), once = !node.hasNonNull("from"),
    from = math.max(1, node.path("from").asInt(1)),
    to = if (!node.hasNonNull("from")) Some(1) else long(node, "to").map(_.toInt),
    optional = node.path("optional").asBoolean, greedy = node.path("greedy").asBoolean,
    inner = node.path("inner").asText match {
      case "consecutive" => Contiguity.Next
      case "combinations" => Contiguity.FollowedByAny
      case _ => Contiguity.FollowedBy
    }, until = if (node.hasNonNull("until")) Some(ConditionTest(node.get("until").asInt)) else None,
    gap = long(node, "gap"))

  private def body(node: JsonNode): ElementBody =
    if (node.hasNonNull("group")) ElementGroup(elements(node.get("group")))
    else if (node.hasNonNull("either"))
      Alternatives(node.get("either").elements.asScala.map(elements).toVector)
    else ElementStep(node.get("step").asInt,
      if (node.hasNonNull("where")) ConditionTest(node.get("where").asInt) else AlwaysTrue)

  private def contiguity(word: String): Contiguity.Value = word match {
    case "next" | "first" => Contiguity.Next
    case "followed_by" => Contiguity.FollowedBy
    case "followed_by_any" => Contiguity.FollowedByAny
    case "not_next" => Contiguity.NotNext
    case "not_followed_by" => Contiguity.NotFollowedBy
    case other => throw new IllegalArgumentException(s"unknown contiguity: $other")
  }

  private def skip(node: JsonNode, steps: IndexedSeq[String]): SkipStrategy = node.get("kind").asText match {
    case "none" => SkipStrategy.None
    case "past_last" => SkipStrategy.PastLast
    case "to_next" => SkipStrategy.ToNext
    case "to_first" => SkipStrategy.ToFirst(steps.indexOf(node.get("step").asText))
    case "to_last" => SkipStrategy.ToLast(steps.indexOf(node.get("step").asText))
    case other => throw new IllegalArgumentException(s"unknown skip: $other")
  }

  private def pair(node: JsonNode): (String, String) = node.get(0).asText -> node.get(1).asText
  private def texts(node: JsonNode): IndexedSeq[String] = node.elements.asScala.map(_.asText).toVector
  private def long(node: JsonNode, name: String): Option[Long] =
    if (node.hasNonNull(name)) Some(node.get(name).asLong) else None
}
