package org.apache.spark.sql.headrace.patterns

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.{Dataset, Row, classic}
import org.apache.spark.sql.headrace.operators.keyed.StepColumns
import org.apache.spark.sql.headrace.operators.{OperatorPlan, StepTime}
import org.apache.spark.sql.headrace.operators.inorder.InOrderStep
import org.apache.spark.sql.types._

/**
 * A pattern step.
 *
 * @param navigated for each condition, the part that references matched rows; null if there is none. The part
 *   on the row alone is a column that Spark computes
 * @param measures the output expressions
 */
final class MatchStep(val spec: PatternSpec, val columns: StepColumns,
    navigated: IndexedSeq[NavigationExpression], measures: Seq[NavigationExpression])
    extends InOrderStep {
  override def arrival: Boolean = spec.arrival
  override def time: StepTime.Value = StepTime.of(spec.clockTime)

  /** Measures are not part of it: they may change without a change of state. */
  override lazy val fingerprint: Int = Seq(spec.steps, spec.conditions, spec.elements, spec.within,
    spec.between, spec.skip, spec.arrival, StepColumns.struct(columns.visible).sql).toString.hashCode

  override def matcher(): AutomatonMatcher =
    new AutomatonMatcher(spec, new PatternCompiler(spec).automaton, new StepContext, columns.visible.size)

  @transient private lazy val conditionOrdinals = navigated.indices
    .map(i => columns.input.indexWhere(_.name == MatchStep.condition(i))).toArray

  /** True if rows that satisfy no condition have no effect. */
  private val isSelective = MatchStep.isSelective(spec.elements, whole = true) &&
    navigated.indices.forall(i => columns.input.exists(_.name == MatchStep.condition(i)))

  override def matters(row: InternalRow): Boolean = !isSelective || conditionOrdinals.exists(isTrue(row, _))
  override def conditions: Seq[Attribute] = if (isSelective) columns.added.map(_.toAttribute) else Nil
  private def isTrue(row: InternalRow, ordinal: Int): Boolean = !row.isNullAt(ordinal) &&
    row.getBoolean(ordinal)

  private final class StepContext extends MatchContext {
    private val arrays = MatchStep.arrays(spec, columns.visible)

    override def holds(condition: Int, row: InternalRow, matched: MatchedRows): Boolean =
      (conditionOrdinals(condition) < 0 || isTrue(row, conditionOrdinals(condition))) &&
        (navigated(condition) == null || navigated(condition).holds(row, matched))

    override def toStored(row: InternalRow): UnsafeRow = columns.storedRow(row).copy()
    override def matchResult(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow =
      row(key, measures.map(_.eval(InternalRow.empty, matched)), time)
    override def timeoutResult(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow =
      row(key, arrays.map(_.eval(matched)), time)

    private def row(key: InternalRow, values: Seq[Any], time: Long): InternalRow =
      new GenericInternalRow((key.toSeq(columns.keyType) ++ values :+ time).toArray[Any])
  }
}

object MatchStep {
  /** Creates a step over a frame, whose internal columns start with `__`. */
  def apply(frame: Dataset[Row], text: String): MatchStep = {
    val spec = PatternSpec.parse(text)
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession]
    val plan = OperatorPlan.planOf(frame)
    val allReferences =
      new StepReferences(session, spec.steps, plan.output.filterNot(_.name.startsWith("__")))
    val required = plan.output.filter(selectColumns(spec, allReferences))
    val visible = required.filterNot(_.name.startsWith("__"))
    val references = new StepReferences(session, spec.steps, visible)
    val plain = spec.conditions.zipWithIndex.flatMap { case (text, i) =>
      references.plainPart(text, plan).map(part => Alias(Cast(part, BooleanType), condition(i))())
    }
    val input = required ++ plain.map(_.toAttribute)
    val conditions = spec.conditions
      .map(text => if (references.navigates(text)) references.condition(text, input) else null)
    val measures = spec.select.map(_.map { case (name, text) => name -> references.measure(text) })
      .getOrElse(spec.steps.zip(arrays(spec, visible)).map { case (name, array) => name -> whole(array) })
    val keys =
      StructType(spec.keys.map(name => StructField(name, plan.output.find(_.name == name).get.dataType)))
    val columns = new StepColumns(
      required, plain, spec.keys,
      Seq(
        "main" -> row(keys, measures.map { case (name, m) => StructField(name, m.dataType) }),
        "timeouts" -> row(keys,
          spec.steps.zip(arrays(spec, visible)).map { case (name, a) => StructField(name, a.dataType) })),
      spec.counted, Some(plan.output))
    new MatchStep(spec, columns, conditions, measures.map(_._2))
  }

  /**
   * Selects the required input columns. If neither whole rows nor side outputs are emitted, only the columns
   * that measures and navigating conditions reference are shuffled, buffered and stored.
   */
  private def selectColumns(spec: PatternSpec, references: StepReferences): Attribute => Boolean = {
    val texts = spec.conditions.filter(references.navigates) ++ spec.select.toSeq.flatMap(_.map(_._2))
    val narrow = Set("late", "timeouts").subsetOf(spec.counted) && spec.select.isDefined
    val named = if (narrow) references.columnsOf(texts) else None
    column => column.name.startsWith("__") || spec.keys.contains(column.name) || named.forall(_(column.name))
  }

  private def condition(number: Int): String = s"__condition$number"

  /**
   * True if no element requires strict contiguity and every step has a condition, so rows matching no
   * condition can be dropped. The first element's contiguity is ignored. A group that may repeat is left at
   * each ignored row, so it is not selective.
   */
  def isSelective(elements: IndexedSeq[PatternElement], whole: Boolean): Boolean = elements.zipWithIndex
    .forall { case (element, i) =>
      val first = i == 0 && (whole || element.body.isInstanceOf[ElementStep])
      val follows = first ||
        (element.contiguity != Contiguity.Next && element.contiguity != Contiguity.NotNext)
      val repeats = element.once || element.inner != Contiguity.Next
      follows && repeats &&
      (element.body match {
        case ElementStep(_, condition) => condition != AlwaysTrue
        case ElementGroup(inner) => (element.once || element.to.contains(element.from)) &&
          isSelective(inner, whole = false)
        case Alternatives(alternatives) => alternatives.forall(isSelective(_, whole = false))
      })
    }

  private def arrays(spec: PatternSpec, visible: Seq[Attribute]): Seq[StepRows] = spec.steps.indices
    .map(StepRows(_, StepColumns.struct(visible)))

  private def whole(array: StepRows): NavigationExpression = {
    val value = AttributeReference("__matched", array.dataType)()
    NavigationExpression(value, Nil, Seq(value -> array))
  }

  private def row(keys: StructType, values: Seq[StructField]): StructType = StructType(keys.fields ++ values)
    .add("__ts", TimestampType)
}
