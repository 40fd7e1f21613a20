package org.apache.spark.sql.headrace.matchrecognize

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

/** One instruction of a program. Those that take no row are run at once, one after the other. */
sealed trait Instruction extends Serializable

/** Takes a row that satisfies the condition of a variable. */
final case class TakeRow(variable: Int) extends Instruction

/** Goes on at two places, the first preferred. */
final case class Split(preferred: Int, other: Int) extends Instruction
final case class Jump(to: Int) extends Instruction

/** Goes on at the start, or at the end, of the partition only. */
case object AtStart extends Instruction
case object AtEnd extends Instruction

/** The rows taken between two of these are left out of what is shown. */
case object ExclusionMark extends Instruction

/** A match. */
case object MatchEnd extends Instruction

/**
 * A pattern as a program: paths through it, in the order of preference, are the ways in which it can match.
 *
 * @param code its instructions, `MatchEnd` last
 */
final case class Program(code: IndexedSeq[Instruction]) {
  def size: Int = code.size
  def at(i: Int): Instruction = code(i)
}

object Program {
  /** Compiles a pattern as the declaration has it; variables by their number. */
  def of(pattern: JsonNode, variables: Seq[String]): Program = {
    val compiler = new ProgramCompiler(variables.zipWithIndex.toMap)
    compiler.add(pattern)
    compiler.code += MatchEnd
    Program(compiler.code.toIndexedSeq)
  }

  private final class ProgramCompiler(numbers: Map[String, Int]) {
    val code: mutable.ArrayBuffer[Instruction] = mutable.ArrayBuffer.empty
    private var excluding = false

    def add(node: JsonNode): Unit = node.fieldNames.next() match {
      case "variable" => code += TakeRow(numbers(node.get("variable").asText))
      case "anchor" => code += (if (node.get("anchor").asText == "start") AtStart else AtEnd)
      case "sequence" => parts(node, "sequence").foreach(add)
      case "alternatives" => alternatives(parts(node, "alternatives").map(Seq(_)))
      case "permutation" => alternatives(parts(node, "permutation").indices.permutations.toSeq.map(
        _.map(parts(node, "permutation")(_))))
      case "exclusion" if excluding => add(node.get("exclusion"))
      case "exclusion" =>
        excluding = true
        code += ExclusionMark
        add(node.get("exclusion"))
        code += ExclusionMark
        excluding = false
      case _ =>
        val most = node.get("most")
        val least = node.get("least").asInt
        val greedy = node.get("greedy").asBoolean
        if (most == null || most.isNull) unbounded(node.get("repeat"), least, greedy)
        else bounded(node.get("repeat"), least, most.asInt, greedy)
    }

    private def alternatives(sequences: Seq[Seq[JsonNode]]): Unit = {
      val exits = sequences.init.map { sequence =>
        val split = hole()
        sequence.foreach(add)
        val exit = hole()
        code(split) = Split(split + 1, code.size)
        exit
      }
      sequences.last.foreach(add)
      exits.foreach(exit => code(exit) = Jump(code.size))
    }

    /** The last of the copies that must be there is the one that repeats. */
    private def unbounded(of: JsonNode, least: Int, greedy: Boolean): Unit = {
      val entry = if (least == 0) hole() else -1
      (1 until least).foreach(_ => add(of))
      val begin = code.size
      add(of)
      code += split(begin, code.size + 1, greedy)
      if (entry >= 0) code(entry) = split(entry + 1, code.size, greedy)
    }

    private def bounded(of: JsonNode, least: Int, most: Int, greedy: Boolean): Unit = {
      (0 until least).foreach(_ => add(of))
      val splits = (least until most).map { _ =>
        val at = hole()
        add(of)
        at
      }
      splits.foreach(at => code(at) = split(at + 1, code.size, greedy))
    }

    private def split(again: Int, on: Int, greedy: Boolean): Instruction =
      if (greedy) Split(again, on) else Split(on, again)

    private def hole(): Int = {
      code += MatchEnd
      code.size - 1
    }

    private def parts(node: JsonNode, name: String): IndexedSeq[JsonNode] = node.get(name).elements.asScala.toIndexedSeq
  }
}
