package org.apache.spark.sql.headrace.operators

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator

import org.apache.spark.sql.{classic, Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.UnresolvedDeserializer
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{SparkSession, Strategy}
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateImpl
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}
import org.apache.spark.sql.types.{Metadata, ObjectType, StructField, StructType}

/** Plan nodes that the stateful operators share. */
object OperatorPlan {
  def addStrategy(session: SparkSession, strategy: Strategy): Unit = {
    val planned = session.experimental
    if (!planned.extraStrategies.contains(strategy)) planned.extraStrategies :+= strategy
  }

  /** True if the plan runs in real-time mode, which accepts no custom physical operators. */
  def isRealTime(plan: LogicalPlan): Boolean = plan.exists {
    case scan: StreamingDataSourceV2ScanRelation => scan.relation.realTimeModeDuration.isDefined
    case _ => false
  }

  /**
   * Projects the same columns without the watermark metadata. Spark drops late rows before a stateful
   * operator if it sees that metadata; the watermark advances either way.
   */
  def hideWatermark(plan: LogicalPlan): (LogicalPlan, Map[ExprId, Attribute]) = {
    val columns = plan.output.map(a => Alias(a, a.name)(explicitMetadata = Some(Metadata.empty)))
    (Project(columns, plan), plan.output.map(_.exprId).zip(columns.map(_.toAttribute)).toMap)
  }

  /** The name of a key column in the schema of state, in which Avro allows letters, digits and `_`. */
  def stateName(name: String, index: Int): String =
    if (name.matches("[\\p{javaLetter}_][\\p{javaLetterOrDigit}_]*")) name else s"__key$index"

  /** The names of key columns in the schema of state. Called from Python. */
  def stateNames(names: JList[String]): JList[String] = names.asScala.zipWithIndex.map { case (name, i) =>
    stateName(name, i)
  }.asJava

  /**
   * Adds the key columns that Spark's state needs: a constant if there are no keys, and a copy of each key
   * that has another name there.
   */
  def withStateKeys(keys: Seq[Attribute], plan: LogicalPlan): (Seq[Attribute], LogicalPlan) = {
    val named =
      if (keys.isEmpty) Seq(Alias(Literal(0), "__all")())
      else keys.zipWithIndex.map {
        case (key, i) if stateName(key.name, i) == key.name => key
        case (key, i) => Alias(key, stateName(key.name, i))()
      }
    val added = named.collect { case alias: Alias => alias }
    (named.map(_.toAttribute), if (added.isEmpty) plan else Project(plan.output ++ added, plan))
  }

  def planOf(frame: Dataset[Row]): LogicalPlan = frame.asInstanceOf[classic.Dataset[Row]].queryExecution
    .analyzed

  /** Inlines common expressions, which only Spark's planner can resolve. */
  def inlineCommonExpressions(e: Expression): Expression = e.transformUp { case With(child, definitions) =>
    child.transform { case ref: CommonExpressionRef => definitions.find(_.id == ref.id).get.child }
  }

  /** Applies a processor with `transformWithState`; rows are not converted. */
  def transform(session: SparkSession, processor: StatefulProcessor[_, _, _],
      keyEncoder: ExpressionEncoder[Any], time: TimeMode, keys: Seq[Attribute], child: LogicalPlan,
      output: StructType): Dataset[Row] = {
    // Spark logs a warning if a key sets or deletes a timer twice.
    Configurator.setLevel(classOf[TimerStateImpl].getName, Level.ERROR)
    val node = new TransformWithState(
      RowCopy(), WholeRow(), keys, child.output, processor.asInstanceOf[StatefulProcessor[Any, Any, Any]],
      time, OutputMode.Append(), keyEncoder, rowObject, child, false, keys, child.output, RowCopy(),
      LocalRelation(keys))
    unpackRows(session, node, output)
  }

  /** Applies a function to each key of a batch, which is a row of Spark's public API, and its rows. */
  def mapGroups(session: SparkSession, keys: Seq[Attribute], plan: LogicalPlan, output: StructType)(
      function: (Any, Iterator[Any]) => IterableOnce[Any]): Dataset[Row] = {
    val (grouping, child) = withStateKeys(keys, plan)
    val encoder = ExpressionEncoder(structOf(grouping))
    val node = MapGroups(function, UnresolvedDeserializer(encoder.deserializer, grouping), WholeRow(),
      grouping, child.output, Nil, rowObject, child)
    unpackRows(session, node, output)
  }

  /** Finds the stateful processor of a class in a query's plan. */
  def processorOf[A](query: Dataset[Row], kind: Class[A]): Option[A] = planOf(query).collectFirst {
    case t: TransformWithState if kind.isInstance(t.statefulProcessor) => kind.cast(t.statefulProcessor)
  }

  private def structOf(columns: Seq[Attribute]): StructType =
    StructType(columns.map(c => StructField(c.name, c.dataType, c.nullable)))
  private def rowObject: AttributeReference =
    AttributeReference("row", ObjectType(classOf[InternalRow]), nullable = false)()

  /**
   * Unpacks the tagged rows that a node returns as objects. The row is a bound reference, because Spark binds
   * nothing where it does not compile a stage: with over 100 columns, or with whole-stage codegen off.
   */
  private def unpackRows(session: SparkSession, node: LogicalPlan, output: StructType): Dataset[Row] = {
    val row = BoundReference(0, ObjectType(classOf[InternalRow]), nullable = false)
    val columns = output.fields.toIndexedSeq.zipWithIndex.map { case (field, i) =>
      Alias(RowColumn(row, i, field.dataType), field.name)()
    }
    classic.Dataset.ofRows(session, SerializeFromObject(columns, node))
  }
}

/** The time of a step: the watermark, the clock, or none. */
object StepTime extends Enumeration {
  val Event: Value = Value("event")
  val Clock: Value = Value("clock")
  val None: Value = Value("none")

  def of(clock: Boolean): Value = if (clock) Clock else Event

  def mode(time: Value): TimeMode = time match {
    case Event => TimeMode.EventTime()
    case Clock => TimeMode.ProcessingTime()
    case None => TimeMode.None()
  }
}
