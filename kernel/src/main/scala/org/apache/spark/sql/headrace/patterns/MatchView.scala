package org.apache.spark.sql.headrace.patterns

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.headrace.operators.inorder.{InOrderLogic, InOrderProcessor, InOrderReader, InOrderView, StepColumns}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Encoders, Row}

/** The state of a step with a pattern as rows that people can read: partial matches, and rows that wait. */
final class MatchView(step: MatchStep) extends InOrderView(step) {
  /** PartialMatch matches, from rows of `key`, `slot` and `bytes`: the entries of the state `matches`. */
  def partials(entries: Dataset[Row]): Dataset[Row] = {
    val (declared, shape) = (step, MatchView.partials(step))
    entries.mapPartitions { (rows: Iterator[Row]) =>
      val reader = new MatchReader(declared)
      rows.filter(_.getLong(1) == 0).flatMap(row => reader.partials(row.getStruct(0), row.getAs[Array[Byte]](2)))
    }(Encoders.row(shape))
  }
}

object MatchView {
  /** The view of the pattern in a query's plan; null where there is none. */
  def of(query: Dataset[Row]): MatchView =
    InOrderProcessor.stepOf(query).collect { case step: MatchStep => new MatchView(step) }.orNull

  private def row(step: MatchStep): StructType = StepColumns.struct(step.columns.visible)

  /** `complete` matches wait for one that began before them. */
  private def partials(step: MatchStep): StructType = new StructType()
    .add("key", step.columns.keyType).add("start", TimestampType).add("end", TimestampType).add("complete", BooleanType)
    .add("matched", StructType(step.spec.steps.map(StructField(_, ArrayType(row(step))))))
}

/** Reads stored bytes. */
private final class MatchReader(step: MatchStep) extends InOrderReader(step) {
  private val matcher = step.matcher()

  def partials(key: Row, stored: Array[Byte]): Seq[Row] =
    InOrderLogic.readSlot(stored, step.fingerprint, matcher)._1.toSeq.flatMap { memory =>
      val begun = memory.partial.asScala.filter(_.started).toSeq.distinctBy(_.last)
      begun.map(partial(key, _, complete = false)) ++ memory.complete.asScala.map(partial(key, _, complete = true))
    }


  private def partial(key: Row, one: PartialMatch, complete: Boolean): Row = {
    val matched = new LinkedRows(one.last, step.spec.steps.size)
    val arrays = step.spec.steps.indices.map(matched.rows(_).map(row))
    Row(keyRow(key), time(one.firstTime), time(one.lastTime), complete, Row.fromSeq(arrays))
  }
}
