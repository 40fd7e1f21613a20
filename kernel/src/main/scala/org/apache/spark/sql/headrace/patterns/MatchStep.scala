package org.apache.spark.sql.headrace.patterns

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.classic
import org.apache.spark.sql.headrace.operators.inorder.{InOrderStep, StepColumns}
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Dataset, Row}

/**
 * A step with a pattern, ready to run.
 *
 * @param navigated for each condition what it says of rows matched so far; null where it looks at the row alone. The part
 *                   that does is a column, which Spark has computed before
 * @param measures what a match gives, by name
 */
final class MatchStep(
    val spec: PatternSpec, val columns: StepColumns, navigated: IndexedSeq[NavigationExpression], measures: Seq[NavigationExpression])
    extends InOrderStep {
  override def arrival: Boolean = spec.arrival
  override def clockTime: Boolean = spec.clockTime

  /** What a match gives can change without a change of state. */
  override lazy val fingerprint: Int = Seq(
    spec.steps, spec.conditions, spec.elements, spec.within, spec.between, spec.skip, spec.arrival,
    StepColumns.struct(columns.visible).sql).toString.hashCode

  override def matcher(): AutomatonMatcher =
    new AutomatonMatcher(spec, new PatternCompiler(spec).automaton, new StepContext, columns.visible.size)

  @transient private lazy val places =
    navigated.indices.map(i => columns.input.indexWhere(_.name == MatchStep.condition(i))).toArray

  /** Whether a row that satisfies no condition changes nothing: not where the next row counts, whichever it is. */
  private val selective = MatchStep.selective(spec.elements, whole = true) &&
    navigated.indices.forall(i => columns.input.exists(_.name == MatchStep.condition(i)))

  override def matters(row: InternalRow): Boolean = !selective || places.exists(satisfied(row, _))

  override def conditions: Seq[Attribute] = if (selective) columns.added.map(_.toAttribute) else Nil

  private def satisfied(row: InternalRow, place: Int): Boolean = !row.isNullAt(place) && row.getBoolean(place)

  private final class StepContext extends MatchContext {
    private val keyTypes = columns.keyType.fields.map(_.dataType)
    private val arrays = MatchStep.arrays(spec, columns.visible)

    override def holds(condition: Int, row: InternalRow, matched: MatchedRows): Boolean =
      (places(condition) < 0 || satisfied(row, places(condition))) &&
        (navigated(condition) == null || navigated(condition).holds(row, matched))

    override def kept(row: InternalRow): UnsafeRow = columns.storedRow(row).copy()

    override def found(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow =
      row(key, measures.map(_.eval(InternalRow.empty, matched)), time)

    override def timedOut(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow =
      row(key, arrays.map(_.eval(matched)), time)

    private def row(key: InternalRow, values: Seq[Any], time: Long): InternalRow = {
      val own = keyTypes.indices.map(i => if (key.isNullAt(i)) null else key.get(i, keyTypes(i)))
      new GenericInternalRow((own ++ values :+ time).toArray[Any])
    }
  }
}

object MatchStep {
  /** Reads a step over a frame, whose columns whose names start with `__` are Headrace's own. */
  def apply(frame: Dataset[Row], text: String): MatchStep = {
    val spec = PatternSpec.parse(text)
    val session = frame.sparkSession.asInstanceOf[classic.SparkSession]
    val plan = frame.asInstanceOf[classic.Dataset[Row]].queryExecution.analyzed
    val everything = new StepReferences(session, spec.steps, plan.output.filterNot(_.name.startsWith("__")))
    val kept = plan.output.filter(lookedAt(spec, everything))
    val visible = kept.filterNot(_.name.startsWith("__"))
    val references = new StepReferences(session, spec.steps, visible)
    val plain = spec.conditions.zipWithIndex.flatMap { case (text, i) =>
      references.plainPart(text, plan).map(part => Alias(Cast(part, BooleanType), condition(i))())
    }
    val input = kept ++ plain.map(_.toAttribute)
    val conditions = spec.conditions.map(text =>
      if (references.navigates(text)) references.condition(text, input) else null)
    val measures = spec.select.map(_.map { case (name, text) => name -> references.measure(text) }).getOrElse(
      spec.steps.zip(arrays(spec, visible)).map { case (name, array) => name -> whole(array) })
    val keys = StructType(spec.keys.map(name => StructField(name, plan.output.find(_.name == name).get.dataType)))
    val columns = new StepColumns(
      kept, plain, spec.keys,
      Seq(
        "main" -> row(keys, measures.map { case (name, m) => StructField(name, m.dataType) }),
        "timeouts" -> row(keys, spec.steps.zip(arrays(spec, visible)).map { case (name, a) => StructField(name, a.dataType) })),
      spec.counted, Some(plan.output))
    new MatchStep(spec, columns, conditions, measures.map(_._2))
  }

  /**
   * Which columns have to come in. Where neither whole rows nor those left behind are given out, only those that measures
   * and conditions on earlier rows speak of: what is not needed need not be sent, nor wait, nor be kept.
   */
  private def lookedAt(spec: PatternSpec, references: StepReferences): Attribute => Boolean = {
    val texts = spec.conditions.filter(references.navigates) ++ spec.select.toSeq.flatMap(_.map(_._2))
    val narrow = Set("late", "timeouts").subsetOf(spec.counted) && spec.select.isDefined
    val named = if (narrow) references.columnsOf(texts) else None
    column => column.name.startsWith("__") || spec.keys.contains(column.name) || named.forall(_(column.name))
  }

  private def condition(number: Int): String = s"__condition$number"

  /**
   * Whether nothing asks for the very next row, and every step for something. How the first follows is not its own.
   * A group that might come again is left at each row that it passes over, whichever it is.
   */
  def selective(elements: IndexedSeq[PatternElement], whole: Boolean): Boolean = elements.zipWithIndex.forall {
    case (element, i) =>
      val first = i == 0 && (whole || element.body.isInstanceOf[ElementStep])
      val follows = first || (element.contiguity != Contiguity.Next && element.contiguity != Contiguity.NotNext)
      val repeats = element.once || element.inner != Contiguity.Next
      follows && repeats && (element.body match {
        case ElementStep(_, condition) => condition != AlwaysTrue
        case ElementGroup(inner) => (element.once || element.to.contains(element.from)) && selective(inner, whole = false)
        case Alternatives(alternatives) => alternatives.forall(selective(_, whole = false))
      })
  }

  private def arrays(spec: PatternSpec, visible: Seq[Attribute]): Seq[StepRows] =
    spec.steps.indices.map(StepRows(_, StepColumns.struct(visible)))

  private def whole(array: StepRows): NavigationExpression = {
    val value = AttributeReference("__matched", array.dataType)()
    NavigationExpression(value, Nil, Seq(value -> array))
  }

  private def row(keys: StructType, values: Seq[StructField]): StructType =
    StructType(keys.fields ++ values).add("__ts", TimestampType)
}
