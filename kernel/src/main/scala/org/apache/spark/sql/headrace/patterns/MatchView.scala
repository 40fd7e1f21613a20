package org.apache.spark.sql.headrace.patterns

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.headrace.operators.inorder.{InOrderStep, InOrderView}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Row}

/** Decodes the state of a pattern step: partial matches and buffered rows. */
final class MatchView(step: MatchStep) extends InOrderView(step) {
  @transient override protected lazy val matcher: AutomatonMatcher = step.matcher()

  /** Partial matches; `complete` ones are withheld until an earlier partial match ends. */
  def partials(entries: Dataset[Row]): Dataset[Row] = {
    val steps = step.spec.steps
    val shape = new StructType().add("key", keyType).add("start", TimestampType).add("end", TimestampType)
      .add("complete", BooleanType).add("matched", StructType(steps.map(StructField(_, ArrayType(rowType)))))
    decodeMemory(entries, shape) { (key, memory) =>
      MatchView.matches(memory).map { case (partial, complete) =>
        val matched = new LinkedRows(partial.last, steps.size)
        val arrays = steps.indices.map(matched.rows(_).map(toRow))
        Row(key, time(partial.firstTime), time(partial.lastTime), complete, Row.fromSeq(arrays))
      }
    }
  }
}

object MatchView {
  /** Creates a view for the pattern in a query's plan; null if there is none. */
  def of(query: Dataset[Row]): MatchView = InOrderStep.of(query).collect { case step: MatchStep =>
    new MatchView(step)
  }.orNull

  /** The matches that have begun, each with its rows once, and true for those that are complete. */
  def matches(memory: PartialMatches): Seq[(PartialMatch, Boolean)] = {
    val begun = memory.partial.asScala.filter(_.started).toSeq.distinctBy(_.last)
    begun.map(_ -> false) ++ memory.complete.asScala.map(_ -> true)
  }
}
