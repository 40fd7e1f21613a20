package org.apache.spark.sql.headrace.rules

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.patterns.{ConditionPart, NavigationExpression, PatternSpec, StepReferences}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BooleanType, DataType, StructType}

/**
 * A pattern of a rules table with analysed expressions.
 *
 * @param plain for each condition, the conjuncts on the row alone
 * @param navigated for each condition, the part that references matched rows; null if there is none
 * @param measures the output expressions, in the order of the step's columns
 */
final case class Rule(spec: PatternSpec, plain: IndexedSeq[Seq[Expression]],
    navigated: IndexedSeq[NavigationExpression], measures: Seq[NavigationExpression])
    extends Serializable

/**
 * Analyses rules over the columns of a step. Uses non-ANSI mode: a division by zero in a rule that was added
 * while the job runs must not fail the job.
 */
final class RuleCompiler(session: SparkSession, input: Seq[Attribute], visible: Seq[Attribute],
    measures: Option[StructType])
    extends PredicateHelper {
  private val lenient = {
    val own = session.cloneSession()
    own.sessionState.conf.setConfString("spark.sql.ansi.enabled", "false")
    own
  }
  private val rows = LocalRelation(input)

  // The parser reads the settings of the thread's active session.
  def compile(spec: PatternSpec): Rule = SQLConf.withExistingConf(lenient.sessionState.conf) {
    val references = new StepReferences(lenient, spec.steps, visible)
    Rule(
      spec, spec.conditions.map(references.plainPart(_, rows).map(conjuncts).getOrElse(Nil)),
      spec.conditions
        .map(text => if (references.navigates(text)) references.condition(text, input) else null),
      measures.map(_.fields.toSeq.map(field => measure(references, spec, field.name, field.dataType)))
        .getOrElse(Nil))
  }

  /** The conjuncts of a rule's conditions. */
  def parts(spec: PatternSpec): IndexedSeq[Seq[ConditionPart]] = SQLConf
    .withExistingConf(lenient.sessionState.conf) {
      val references = new StepReferences(lenient, spec.steps, visible)
      spec.conditions.map(references.parts(_, input))
    }

  private def measure(
      references: StepReferences, spec: PatternSpec, name: String, expected: DataType): NavigationExpression =
    spec.select.getOrElse(Nil).find(_._1 == name) match {
      case None => NavigationExpression(Literal(null, expected), Nil, Nil)
      case Some((_, text)) =>
        val resolved = references.measure(text)
        if (resolved.dataType == expected) resolved
        else if (Cast.canANSIStoreAssign(resolved.dataType, expected)) resolved
          .copy(expression = cast(resolved.expression, expected))
        else throw new IllegalArgumentException(
          s"expected the measure `$name` to be ${expected.sql.toLowerCase}, " +
            s"got ${resolved.dataType.sql.toLowerCase}")
    }

  private def cast(value: Expression, to: DataType): Expression =
    Cast(value, to, Some(lenient.sessionState.conf.sessionLocalTimeZone), EvalMode.LEGACY)

  private def conjuncts(of: Expression): Seq[Expression] = splitConjunctivePredicates(of)
    .map(part => if (part.dataType == BooleanType) part else cast(part, BooleanType))
}
