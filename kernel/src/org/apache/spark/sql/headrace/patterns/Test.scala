/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.patterns

/** What an edge asks of the row under test. */
sealed trait Test extends Serializable {
  def passes(asked: Asked): Boolean

  def and(other: Test): Test = if (this == Always) other else if (other == Always) this else Both(this, other)
}

/** What a test may ask: the declared conditions, and how long ago the partial match took its last row. */
trait Asked {
  def condition(number: Int): Boolean
  def sincePrevious: Long
}

case object Always extends Test {
  override def passes(asked: Asked): Boolean = true
}

/** A condition of the declaration, by number. */
final case class Holds(condition: Int) extends Test {
  override def passes(asked: Asked): Boolean = asked.condition(condition)
}

final case class Not(test: Test) extends Test {
  override def passes(asked: Asked): Boolean = !test.passes(asked)
}

final case class Both(first: Test, second: Test) extends Test {
  override def passes(asked: Asked): Boolean = first.passes(asked) && second.passes(asked)
}

final case class AnyOf(tests: Seq[Test]) extends Test {
  override def passes(asked: Asked): Boolean = tests.exists(_.passes(asked))
}

/** The last row was taken less than a length ago. */
final case class Recent(gap: Long) extends Test {
  override def passes(asked: Asked): Boolean = asked.sincePrevious < gap
}
