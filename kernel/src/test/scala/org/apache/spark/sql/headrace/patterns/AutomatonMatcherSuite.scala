package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.headrace.operators.keyed.StepOutput
import org.apache.spark.sql.headrace.operators.Time
import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** Rows are letters; step `a` takes rows "a". A result is the letters of a match. */
class AutomatonMatcherSuite extends munit.FunSuite {
  private val letters = "abc"
  private val toRow = UnsafeProjection.create(Array[DataType](StringType))

  private object Letters extends MatchContext {
    override def holds(condition: Int, row: InternalRow, matched: MatchedRows): Boolean = row.getString(0) ==
      letters(condition).toString
    override def toStored(row: InternalRow): UnsafeRow = row.copy().asInstanceOf[UnsafeRow]
    override def matchResult(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow =
      row(letters.indices.flatMap(matched.rows(_)).map(_.getString(0)).mkString)
    override def timeoutResult(key: InternalRow, matched: MatchedRows, start: Long, time: Long): InternalRow =
      matchResult(key, matched, start, time)
  }

  private def row(text: String): UnsafeRow = toRow(InternalRow(UTF8String.fromString(text))).copy()

  private def element(step: Int, contiguity: String, more: String = ""): String =
    s"""{"step": $step, "where": $step, "contiguity": "$contiguity"$more}"""

  private def matcher(elements: Seq[String], more: String = "", skip: String = "none") = {
    val spec = PatternSpec.parse(s"""{"steps": ["a", "b", "c"], "conditions": ["a", "b", "c"], "keys": [],
         |"elements": ${elements.mkString("[", ",", "]")}, "skip": {"kind": "$skip"}$more}""".stripMargin)
    new AutomatonMatcher(spec, new PatternCompiler(spec).automaton, Letters, 1)
  }

  /** Feeds one row per second and returns matches, and timeouts in parentheses. */
  private def run(matcher: AutomatonMatcher, rows: String): Seq[String] = {
    val results = mutable.ArrayBuffer.empty[String]
    val out: StepOutput = (output, row) => {
      val text = row.getString(0)
      results += (if (output == AutomatonMatcher.Main) text else s"($text)")
    }
    var memory = matcher.empty
    rows.zipWithIndex.foreach { case (letter, i) =>
      matcher.advance(null, memory, i * 1000000L, out)
      matcher.take(null, memory, row(letter.toString), i * 1000000L, out)
      memory = copy(matcher, memory)
    }
    matcher.advance(null, memory, Time.End, out)
    matcher.finish(null, memory, out)
    results.toSeq
  }

  /** Writes and reads the state, as between two micro-batches. */
  private def copy(matcher: AutomatonMatcher, memory: PartialMatches): PartialMatches = {
    val out = new Output(64, -1)
    matcher.write(memory, out)
    matcher.read(new Input(out.toBytes))
  }

  private val ab = Seq(element(0, "first"), element(1, "followed_by"))

  test("followed_by ignores rows in between") { assertEquals(run(matcher(ab), "acb"), Seq("ab")) }

  test("next requires strict contiguity") {
    val strict = Seq(element(0, "first"), element(1, "next"))
    assertEquals(run(matcher(strict), "acbab"), Seq("ab"))
  }

  test("followed_by_any matches every later row") {
    val any = Seq(element(0, "first"), element(1, "followed_by_any"))
    assertEquals(run(matcher(any), "abb"), Seq("ab", "ab"))
  }

  test("a row between ends a match with not_followed_by") {
    val not = Seq(element(0, "first"), element(2, "not_followed_by"), element(1, "followed_by"))
    assertEquals(run(matcher(not), "acbab"), Seq("ab"))
  }

  test("a repetition emits each length, a greedy one the longest") {
    val times = """, "from": 1, "inner": "relaxed""""
    val loop = Seq(element(0, "first", times), element(1, "followed_by"))
    assertEquals(run(matcher(loop), "aab").toSet, Set("ab", "aab"))
    val greedy = Seq(element(0, "first", times + """, "greedy": true"""), element(1, "followed_by"))
    assertEquals(run(matcher(greedy, skip = "past_last"), "aab"), Seq("aab"))
  }

  test("skip past last excludes overlapping matches") {
    assertEquals(run(matcher(ab), "aab").size, 2)
    assertEquals(run(matcher(ab, skip = "past_last"), "aab"), Seq("ab"))
  }

  test("a partial match times out") {
    assertEquals(run(matcher(ab, """, "within": 1500000"""), "acb"), Seq("(a)"))
  }

  test("an optional step may be absent") {
    val optional =
      Seq(element(0, "first"), element(1, "followed_by", """, "optional": true"""), element(2, "followed_by"))
    assertEquals(run(matcher(optional), "ac"), Seq("ac"))
    assertEquals(run(matcher(optional), "abc").toSet, Set("ac", "abc"))
  }
}
