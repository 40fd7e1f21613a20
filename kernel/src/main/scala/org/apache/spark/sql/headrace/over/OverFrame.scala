package org.apache.spark.sql.headrace.over

import com.fasterxml.jackson.databind.JsonNode

/** The rows, up to the current one, that an aggregate covers; `preceding` is the bound, None for all rows. */
sealed trait OverFrame

/** The row itself and a number of rows before it. */
final case class RowsBefore(preceding: Option[Long]) extends OverFrame

/** The peers of the row, and the rows before them whose order value is within a distance. */
final case class RangeBefore(preceding: Option[Long]) extends OverFrame

object OverFrame {
  def parse(tree: JsonNode): OverFrame = {
    val preceding = if (tree.hasNonNull("preceding")) Some(tree.get("preceding").asLong) else scala.None
    if (tree.get("kind").asText == "rows") RowsBefore(preceding) else RangeBefore(preceding)
  }
}
