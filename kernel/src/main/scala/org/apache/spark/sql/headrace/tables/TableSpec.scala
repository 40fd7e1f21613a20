package org.apache.spark.sql.headrace.tables

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import org.apache.spark.sql.headrace.operators.StepTime

/** The declaration of a table step, as JSON from Python. */
private final class TableSpec(text: String) {
  private val tree: JsonNode = new ObjectMapper().readTree(text)
  val keys: Seq[String] = words("keys")
  val time: StepTime.Value = StepTime.withName(word("time"))

  def word(name: String): String = tree.path(name).asText
  def words(name: String): Seq[String] = tree.path(name).elements.asScala.map(_.asText).toVector
  def number(name: String): Long = tree.path(name).asLong
  def flag(name: String): Boolean = tree.path(name).asBoolean
}
