package org.apache.spark.sql.headrace.matchrecognize

import com.fasterxml.jackson.databind.ObjectMapper

/** Rows are letters; variable A takes rows 'A'. */
class MatchAttemptSuite extends munit.FunSuite {
  private val variables = Seq("A", "B")

  /** Returns the number of matched rows; -1 for no match, -2 if undecided. */
  private def attempt(pattern: String, rows: String, lookahead: Lookahead): Int = {
    val program = Program.of(new ObjectMapper().readTree(pattern), variables)
    var position = 0
    val tester: RowTester =
      chain => if (variables(chain.variable) == rows(position).toString) TestPassed else TestFailed
    val attempt = new MatchAttempt(program, new RowChains(Array(false, false)), tester, atStart = true)
    while (position < rows.length && !attempt.isDecided) {
      assert(attempt.take())
      position += 1
    }
    attempt.verdict(lookahead) match {
      case MatchFound(chain, _) => if (chain == null) 0 else chain.size
      case NoMatch => -1
      case Undecided => -2
    }
  }

  private def repeat(variable: String, greedy: Boolean): String =
    s"""{"repeat": {"variable": "$variable"}, "least": 0, "most": null, "greedy": $greedy}"""

  test("a greedy repetition takes as many rows as possible, a reluctant one as few") {
    assertEquals(attempt(repeat("A", greedy = true), "AAB", OnlyOtherRows), 2)
    assertEquals(attempt(repeat("A", greedy = false), "AAB", OnlyOtherRows), 0)
  }

  test("a sequence must match completely") {
    val sequence = s"""{"sequence": [${repeat("A", greedy = true)}, {"variable": "B"}]}"""
    assertEquals(attempt(sequence, "AAB", PartitionEnd), 3)
    assertEquals(attempt(sequence, "AA", PartitionEnd), -1)
    assertEquals(attempt(sequence, "AA", MoreRowsPossible), -2)
  }

  test("the first alternative is preferred") {
    val alternatives =
      """{"alternatives": [{"sequence": [{"variable": "A"}, {"variable": "B"}]}, {"variable": "A"}]}"""
    assertEquals(attempt(alternatives, "AB", PartitionEnd), 2)
    assertEquals(attempt(alternatives, "AA", PartitionEnd), 1)
  }

  test("anchors bind to the partition's ends") {
    val end = """{"sequence": [{"variable": "A"}, {"anchor": "end"}]}"""
    assertEquals(attempt(end, "A", PartitionEnd), 1)
    assertEquals(attempt(end, "AB", OnlyOtherRows), -1)
  }
}
