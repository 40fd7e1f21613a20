/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.rules

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.patterns.{Compiler, InOrderProcessor, Inquired, Inquiry, Part, Partials}

/** Answers why a rule of a table has (not) matched for one key. Rules don't know of each other, so each is asked alone. */
object RulesInquiry {
  /** Inquires after the one rule that is loaded, in a query's plan; null where that has no rules. */
  def of(query: Dataset[Row], rule: String): Inquiry =
    InOrderProcessor.stepOf(query).collect { case step: RulesStep => new Inquiry(new InquiredRule(step.holding(rule))) }.orNull
}

private final class InquiredRule(alone: RulesStep) extends Inquired(alone, alone.rules.rules.head.rule.spec) {
  private val start = new Compiler(spec).automaton.start
  override val matcher: RulesMatcher = alone.matcher()

  override def parts: IndexedSeq[Seq[Part]] = alone.parts(spec)

  override def partials(memory: RulesMemory): Partials = Option(memory.partials(0)).getOrElse(new Partials(start))

  /** Rows are kept for all rules: others may want it, or it came before this one. */
  override def sees(row: InternalRow): Boolean = alone.rules.rules.head.since <= alone.came(row) && alone.matters(row)

  /** The key, and `rule` and `version`. */
  override def known: Int = super.known + 2
}
