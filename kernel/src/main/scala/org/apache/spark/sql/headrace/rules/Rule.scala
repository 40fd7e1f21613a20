package org.apache.spark.sql.headrace.rules

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headrace.patterns.{ConditionPart, NavigationExpression, PatternSpec, StepReferences}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BooleanType, DataType, StructType}

/**
 * A pattern of a table of rules, its expressions analysed.
 *
 * @param plain for each condition the parts that look at the row alone, all of which must hold
 * @param navigated for each condition what it says of rows matched so far; null where it looks at the row alone
 * @param measures what a match gives, in the order of the step's columns
 */
final case class Rule(
    spec: PatternSpec, plain: IndexedSeq[Seq[Expression]], navigated: IndexedSeq[NavigationExpression], measures: Seq[NavigationExpression])
    extends Serializable

/**
 * Analyses rules over the columns of a step.
 *
 * What can't be computed is null here, whatever the session says: a division by zero in a rule that somebody wrote while
 * the job ran must not end the job.
 */
final class RuleCompiler(session: SparkSession, input: Seq[Attribute], visible: Seq[Attribute], measures: Option[StructType]) {
  private val lenient = {
    val own = session.cloneSession()
    own.sessionState.conf.setConfString("spark.sql.ansi.enabled", "false")
    own
  }
  private val rows = LocalRelation(input)

  // The parser asks whichever session is active in the thread.
  def compiled(spec: PatternSpec): Rule = SQLConf.withExistingConf(lenient.sessionState.conf) {
    val references = new StepReferences(lenient, spec.steps, visible)
    Rule(
      spec,
      spec.conditions.map(references.plainPart(_, rows).map(conjuncts).getOrElse(Nil)),
      spec.conditions.map(text => if (references.navigates(text)) references.condition(text, input) else null),
      measures.map(_.fields.toSeq.map(field => measure(references, spec, field.name, field.dataType))).getOrElse(Nil))
  }

  /** The conditions of a rule taken apart, for people who ask which part of one failed. */
  def parts(spec: PatternSpec): IndexedSeq[Seq[ConditionPart]] = SQLConf.withExistingConf(lenient.sessionState.conf) {
    val references = new StepReferences(lenient, spec.steps, visible)
    spec.conditions.map(references.parts(_, input))
  }

  private def measure(references: StepReferences, spec: PatternSpec, name: String, wanted: DataType): NavigationExpression =
    spec.select.getOrElse(Nil).find(_._1 == name) match {
      case None => NavigationExpression(Literal(null, wanted), Nil, Nil)
      case Some((_, text)) =>
        val found = references.measure(text)
        if (found.dataType == wanted) found
        else if (Cast.canANSIStoreAssign(found.dataType, wanted)) found.copy(expression = cast(found.expression, wanted))
        else throw new IllegalArgumentException(
          s"expected the measure `$name` to be ${wanted.sql.toLowerCase}, got ${found.dataType.sql.toLowerCase}")
    }

  private def cast(value: Expression, to: DataType): Expression =
    Cast(value, to, Some(lenient.sessionState.conf.sessionLocalTimeZone), EvalMode.LEGACY)

  private def conjuncts(of: Expression): Seq[Expression] = of match {
    case And(left, right) => conjuncts(left) ++ conjuncts(right)
    case other if other.dataType == BooleanType => Seq(other)
    case other => Seq(cast(other, BooleanType))
  }
}
