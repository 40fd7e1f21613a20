package org.apache.spark.sql.headrace.patterns

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.headrace.operators.keyed.StepColumns
import org.apache.spark.sql.headrace.operators.inorder.{InOrderLogic, InOrderStep, InOrderReader, InOrderView}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Encoders, Row}

/** Decodes the state of a pattern step: partial matches and buffered rows. */
final class MatchView(step: MatchStep) extends InOrderView(step) {
  /** Partial matches, from the entries (`key`, `slot`, `bytes`) of the state variable `matches`. */
  def partials(entries: Dataset[Row]): Dataset[Row] = {
    val (declared, shape) = (step, MatchView.partials(step))
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val reader = new MatchReader(declared)
      rows.filter(_.getLong(1) == 0)
        .flatMap(row => reader.partials(row.getStruct(0), row.getAs[Array[Byte]](2)))
    }(Encoders.row(shape))
  }
}

object MatchView {
  /** Creates a view for the pattern in a query's plan; null if there is none. */
  def of(query: Dataset[Row]): MatchView = InOrderStep.of(query).collect { case step: MatchStep =>
    new MatchView(step)
  }.orNull
  private def row(step: MatchStep): StructType = StepColumns.struct(step.columns.visible)

  /** `complete` matches are withheld until an earlier partial match ends. */
  private def partials(step: MatchStep): StructType = new StructType().add("key", step.columns.keyType)
    .add("start", TimestampType).add("end", TimestampType).add("complete", BooleanType)
    .add("matched", StructType(step.spec.steps.map(StructField(_, ArrayType(row(step))))))
}

/** Decodes stored bytes. */
private final class MatchReader(step: MatchStep) extends InOrderReader(step) {
  private val matcher = step.matcher()

  def partials(key: Row, stored: Array[Byte]): Seq[Row] = InOrderLogic
    .readSlot(stored, step.fingerprint, matcher)._1.toSeq.flatMap { memory =>
      val begun = memory.partial.asScala.filter(_.started).toSeq.distinctBy(_.last)
      begun.map(partial(key, _, complete = false)) ++
        memory.complete.asScala.map(partial(key, _, complete = true))
    }

  private def partial(key: Row, matchOf: PartialMatch, complete: Boolean): Row = {
    val matched = new LinkedRows(matchOf.last, step.spec.steps.size)
    val arrays = step.spec.steps.indices.map(matched.rows(_).map(row))
    Row(keyRow(key), time(matchOf.firstTime), time(matchOf.lastTime), complete, Row.fromSeq(arrays))
  }
}
