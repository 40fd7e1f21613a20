package org.apache.spark.sql.headrace.rules

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.keyed.StepOutput
import org.apache.spark.sql.headrace.operators.inorder.Matcher
import org.apache.spark.sql.headrace.patterns.{AutomatonMatcher, MatchContext, MatchedRows, PartialMatches, PatternCompiler}

/**
 * Finds the matches of all rules of a set. Each rule has its own automaton. The shared conditions are
 * evaluated once per row, and a row reaches only rules with partial matches and rules that it may start.
 */
final class RulesMatcher(step: RulesStep, set: RuleSet) extends Matcher {
  type Memory = RulesState
  private val conditions = step.sharedConditions
  private val visible = step.columns.visible.size
  private val matchers = new Array[AutomatonMatcher](set.rules.size)
  private val codec = new RulesCodec(set, visible, matcher(_).codec)

  /** Stored copy of the current row, shared by all rules. */
  private var storedCopy: UnsafeRow = _

  /** Number of the last row tested as the start of each rule; a rule may start in several ways. */
  private val lastTested = Array.fill(set.rules.size)(-1L)
  private var rows = 0L
  override def empty: RulesState = new RulesState(set.rules.size)
  override def isEmpty(memory: RulesState): Boolean = memory.started == 0
  override def read(in: Input): RulesState = {
    val memory = codec.read(in)
    updateDue(memory)
    memory
  }
  override def write(memory: RulesState, out: Output): Unit = codec.write(memory, out)
  override def countDropped(memory: RulesState): Int = memory.dropped

  override def take(
      key: InternalRow, memory: RulesState, row: InternalRow, time: Long, out: StepOutput): Unit = {
    conditions.evaluate(row)
    storedCopy = null
    rows += 1
    val arrivedIn = step.ruleSetAtArrival(row)
    memory.foreach { (rule, partials) =>
      lastTested(rule) = rows
      if (concerns(rule, arrivedIn)) process(rule, partials, key, memory, row, time, out)
    }
    conditions
      .each(condition => set.starting(condition).foreach(start(_, arrivedIn, key, memory, row, time, out)))
    set.always.foreach(start(_, arrivedIn, key, memory, row, time, out))
    memory.number += 1
  }

  private def concerns(rule: Int, arrivedIn: Long): Boolean = {
    val required = set.required(rule)
    set.rules(rule).since <= arrivedIn && (!set.selective(rule) || required.exists(conditions.all))
  }

  private def start(rule: Int, arrivedIn: Long, key: InternalRow, memory: RulesState, row: InternalRow,
      time: Long, out: StepOutput): Unit = if (lastTested(rule) != rows) {
    lastTested(rule) = rows
    if (set.rules(rule).since <= arrivedIn) process(rule, matcher(rule).empty, key, memory, row, time, out)
  }

  private def process(rule: Int, partials: PartialMatches, key: InternalRow, memory: RulesState,
      row: InternalRow, time: Long, out: StepOutput): Unit = {
    partials.number = memory.number
    matcher(rule).take(key, partials, row, time, out)
    save(rule, partials, memory)
  }

  private def save(rule: Int, partials: PartialMatches, memory: RulesState): Unit =
    if (partials.isEmpty) memory.remove(rule)
    else {
      memory.put(rule, partials)
      memory.due = math.min(memory.due, matcher(rule).due(partials))
    }

  override def advance(
      key: InternalRow, memory: RulesState, time: Long, out: StepOutput): Unit = if (memory.due <= time) {
    memory.foreach { (rule, partials) =>
      matcher(rule).advance(key, partials, time, out)
      if (partials.isEmpty) memory.remove(rule)
    }
    updateDue(memory)
  }

  override def finish(key: InternalRow, memory: RulesState, out: StepOutput): Unit = memory
    .foreach { (rule, partials) =>
      matcher(rule).finish(key, partials, out)
      memory.remove(rule)
    }

  override def due(memory: RulesState): Long = {
    updateDue(memory)
    memory.due
  }

  private def updateDue(memory: RulesState): Unit = {
    memory.due = Long.MaxValue
    memory.foreach((rule, partials) => memory.due = math.min(memory.due, matcher(rule).due(partials)))
  }

  private def matcher(rule: Int): AutomatonMatcher = {
    if (matchers(rule) == null) {
      val spec = set.rules(rule).rule.spec
      matchers(rule) =
        new AutomatonMatcher(spec, new PatternCompiler(spec).automaton, new RuleContext(rule), visible)
    }
    matchers(rule)
  }

  private final class RuleContext(number: Int) extends MatchContext {
    private val own = set.rules(number)
    private val required = set.required(number)
    private val navigated = own.rule.navigated.toArray
    override def holds(condition: Int, row: InternalRow, matched: MatchedRows): Boolean = conditions
      .all(required(condition)) && (navigated(condition) == null || navigated(condition).holds(row, matched))

    override def toStored(row: InternalRow): UnsafeRow = {
      if (RulesMatcher.this.storedCopy == null)
        RulesMatcher.this.storedCopy = step.columns.storedRow(row).copy()
      RulesMatcher.this.storedCopy
    }

    override def matchResult(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow =
      step.output.matchResult(key, own, matched, start, time)
    override def timeoutResult(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow =
      step.output.timeoutResult(key, own, matched, start, time)
  }
}
