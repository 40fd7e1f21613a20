package org.apache.spark.sql.headrace.joins

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.headrace.windows.{Cumulating, Sliding, WindowGrid, WindowKind}

object Side {
  val Left = 0
  val Right = 1
}

/**
 * The kind of a join: which pairs and rows it emits.
 *
 * @param pairs true to emit pairs
 * @param unmatchedLeft true to emit left rows without a partner; `unmatchedRight`: right rows
 * @param onceLeft true to emit a left row with its first partner, without that partner
 */
final case class JoinKind(pairs: Boolean, unmatchedLeft: Boolean, unmatchedRight: Boolean,
    onceLeft: Boolean = false) {
  def emitsUnmatched(side: Int): Boolean = if (side == Side.Left) unmatchedLeft else unmatchedRight

  /** True if a row has contributed to a result, given whether it has found a partner. */
  def hasResult(side: Int, matched: Boolean): Boolean =
    if (matched) pairs || onceLeft || side == Side.Right else emitsUnmatched(side)

  /** True if further partners of a left row make no difference. */
  def leftIsDecidedByMatch: Boolean = !pairs
}

object JoinKind {
  def of(how: String): JoinKind = how match {
    case "inner" => JoinKind(pairs = true, unmatchedLeft = false, unmatchedRight = false)
    case "left" => JoinKind(pairs = true, unmatchedLeft = true, unmatchedRight = false)
    case "right" => JoinKind(pairs = true, unmatchedLeft = false, unmatchedRight = true)
    case "full" => JoinKind(pairs = true, unmatchedLeft = true, unmatchedRight = true)
    case "semi" => JoinKind(pairs = false, unmatchedLeft = false, unmatchedRight = false, onceLeft = true)
    case "anti" => JoinKind(pairs = false, unmatchedLeft = true, unmatchedRight = false)
    case other => throw new IllegalArgumentException(s"unknown join: $other")
  }
}

/** The partners of a row. Lengths are microseconds. */
sealed trait JoinScope extends Serializable

/** Pairs with `lower <= right.ts - left.ts <= upper`. */
final case class Interval(lower: Long, upper: Long) extends JoinScope {
  /** How long after its event time a partner of a row may follow. */
  def keep(side: Int): Long = if (side == Side.Left) upper else -lower

  /** Event times of the partners of a row at `time`. */
  def first(side: Int, time: Long): Long = if (side == Side.Left) time + lower else time - upper
  def last(side: Int, time: Long): Long = time + keep(side)
}

/** Rows of one window; None if its bounds are the last two key columns. */
final case class SameWindow(window: Option[WindowKind]) extends JoinScope {
  def grid: Option[WindowGrid] = window.flatMap(WindowGrid.of)
}

/**
 * A join of two streams as declared by Python.
 *
 * @param keys the key columns
 * @param clockTime the clock is the watermark: ingestion and processing time
 */
final case class JoinSpec(scope: JoinScope, kind: JoinKind, keys: Seq[String], clockTime: Boolean)

object JoinSpec {
  private val json = new ObjectMapper

  def parse(text: String): JoinSpec = {
    val tree = json.readTree(text)
    JoinSpec(scope(tree), JoinKind.of(tree.get("how").asText),
      tree.get("keys").elements.asScala.map(_.asText).toVector,
      clockTime = tree.path("time").asText == "clock")
  }

  private def scope(tree: JsonNode): JoinScope =
    if (!tree.hasNonNull("window")) Interval(tree.get("lower").asLong, tree.get("upper").asLong)
    else {
      val window = tree.get("window")
      def length(name: String): Long = window.path(name).asLong
      SameWindow(window.path("kind").asText match {
        case "attached" => None
        case "cumulating" => Some(Cumulating(length("size"), length("step"), length("offset")))
        case _ => Some(Sliding(length("size"), length("every"), length("offset")))
      })
    }
}
