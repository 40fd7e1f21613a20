package org.apache.spark.sql.headrace.patterns

/** What an edge asks of the row under test. */
sealed trait EdgeTest extends Serializable {
  def passes(asked: TestContext): Boolean

  def and(other: EdgeTest): EdgeTest = if (this == AlwaysTrue) other else if (other == AlwaysTrue) this else AndTest(this, other)
}

/** What a test may ask: the declared conditions, and how long ago the partial match took its last row. */
trait TestContext {
  def condition(number: Int): Boolean
  def sincePrevious: Long
}

case object AlwaysTrue extends EdgeTest {
  override def passes(asked: TestContext): Boolean = true
}

/** A condition of the declaration, by number. */
final case class ConditionTest(condition: Int) extends EdgeTest {
  override def passes(asked: TestContext): Boolean = asked.condition(condition)
}

final case class NotTest(test: EdgeTest) extends EdgeTest {
  override def passes(asked: TestContext): Boolean = !test.passes(asked)
}

final case class AndTest(first: EdgeTest, second: EdgeTest) extends EdgeTest {
  override def passes(asked: TestContext): Boolean = first.passes(asked) && second.passes(asked)
}

final case class OrTest(tests: Seq[EdgeTest]) extends EdgeTest {
  override def passes(asked: TestContext): Boolean = tests.exists(_.passes(asked))
}

/** The last row was taken less than a length ago. */
final case class WithinGap(gap: Long) extends EdgeTest {
  override def passes(asked: TestContext): Boolean = asked.sincePrevious < gap
}
