package org.apache.spark.sql.headrace.rules

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.headrace.operators.inorder.{MatchOutput, Matcher}
import org.apache.spark.sql.headrace.patterns.{AutomatonMatcher, MatchContext, MatchedRows, PartialMatches, PatternCompiler}

/**
 * Finds the matches of all rules of a set among the rows of a key.
 *
 * Each rule has the automaton that it would have alone. A row is asked once for all of them, and reaches only rules that
 * have begun and rules that it may begin; most rows reach none.
 */
final class RulesMatcher(step: RulesStep, set: RuleSet) extends Matcher {
  type Memory = RulesState
  private val answers = step.answers
  private val visible = step.columns.visible.size
  private val alone = new Array[AutomatonMatcher](set.rules.size)
  private val codec = new RulesCodec(set, visible, matcher(_).codec)
  /** The row under test as it is kept: one copy, whichever rules take it. */
  private var kept: UnsafeRow = _
  /** The number of the last row that each rule was asked to begin with: a rule may begin in several ways. */
  private val tried = Array.fill(set.rules.size)(-1L)
  private var rows = 0L

  override def empty: RulesState = new RulesState(set.rules.size)
  override def isEmpty(memory: RulesState): Boolean = memory.begun == 0
  override def read(in: Input): RulesState = {
    val memory = codec.read(in)
    again(memory)
    memory
  }
  override def write(memory: RulesState, out: Output): Unit = codec.write(memory, out)
  override def dropped(memory: RulesState): Int = memory.dropped

  override def take(key: InternalRow, memory: RulesState, row: InternalRow, time: Long, out: MatchOutput): Unit = {
    answers.ask(row)
    kept = null
    rows += 1
    val came = step.came(row)
    memory.foreach { (rule, partials) =>
      tried(rule) = rows
      if (concerns(rule, came)) meet(rule, partials, key, memory, row, time, out)
    }
    answers.each(question => set.starting(question).foreach(begin(_, came, key, memory, row, time, out)))
    set.always.foreach(begin(_, came, key, memory, row, time, out))
    memory.number += 1
  }

  private def concerns(rule: Int, came: Long): Boolean = {
    val asked = set.asked(rule)
    set.rules(rule).since <= came && (!set.selective(rule) || asked.exists(answers.all))
  }

  private def begin(
      rule: Int, came: Long, key: InternalRow, memory: RulesState, row: InternalRow, time: Long, out: MatchOutput): Unit =
    if (tried(rule) != rows) {
      tried(rule) = rows
      if (set.rules(rule).since <= came) meet(rule, matcher(rule).empty, key, memory, row, time, out)
    }

  private def meet(
      rule: Int, partials: PartialMatches, key: InternalRow, memory: RulesState, row: InternalRow, time: Long,
      out: MatchOutput): Unit = {
    partials.number = memory.number
    matcher(rule).take(key, partials, row, time, out)
    settle(rule, partials, memory)
  }

  private def settle(rule: Int, partials: PartialMatches, memory: RulesState): Unit =
    if (partials.nothing) memory.remove(rule)
    else {
      memory.put(rule, partials)
      memory.due = math.min(memory.due, matcher(rule).due(partials))
    }

  override def advance(key: InternalRow, memory: RulesState, time: Long, out: MatchOutput): Unit =
    if (memory.due <= time) {
      memory.foreach { (rule, partials) =>
        matcher(rule).advance(key, partials, time, out)
        if (partials.nothing) memory.remove(rule)
      }
      again(memory)
    }

  override def finish(key: InternalRow, memory: RulesState, out: MatchOutput): Unit =
    memory.foreach { (rule, partials) =>
      matcher(rule).finish(key, partials, out)
      memory.remove(rule)
    }

  override def due(memory: RulesState): Long = {
    again(memory)
    memory.due
  }

  private def again(memory: RulesState): Unit = {
    memory.due = Long.MaxValue
    memory.foreach((rule, partials) => memory.due = math.min(memory.due, matcher(rule).due(partials)))
  }

  private def matcher(rule: Int): AutomatonMatcher = {
    if (alone(rule) == null) {
      val spec = set.rules(rule).rule.spec
      alone(rule) = new AutomatonMatcher(spec, new PatternCompiler(spec).automaton, new RuleContext(rule), visible)
    }
    alone(rule)
  }

  private final class RuleContext(number: Int) extends MatchContext {
    private val own = set.rules(number)
    private val asked = set.asked(number)
    private val navigated = own.rule.navigated.toArray

    override def holds(condition: Int, row: InternalRow, matched: MatchedRows): Boolean =
      answers.all(asked(condition)) && (navigated(condition) == null || navigated(condition).holds(row, matched))

    override def kept(row: InternalRow): UnsafeRow = {
      if (RulesMatcher.this.kept == null) RulesMatcher.this.kept = step.columns.storedRow(row).copy()
      RulesMatcher.this.kept
    }

    override def found(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow =
      step.output.found(key, own, matched, start, time)

    override def timedOut(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow =
      step.output.timedOut(key, own, matched, start, time)
  }
}
