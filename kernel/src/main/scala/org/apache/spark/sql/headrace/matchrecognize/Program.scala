package org.apache.spark.sql.headrace.matchrecognize

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

/** An instruction. Those that take no row are executed immediately. */
sealed trait Instruction extends Serializable

/** Takes a row that satisfies a variable's condition. */
final case class TakeRow(variable: Int) extends Instruction

/** Branches; the first target is preferred. */
final case class Split(preferred: Int, other: Int) extends Instruction
final case class Jump(to: Int) extends Instruction

/** Continue only at the start or end of the partition. */
case object AtStart extends Instruction
case object AtEnd extends Instruction

/** Rows taken between two of these are excluded from the output. */
case object ExclusionMark extends Instruction

case object MatchEnd extends Instruction

/**
 * A compiled pattern. Its paths in order of preference are the possible matches.
 *
 * @param code the instructions; `MatchEnd` is last
 */
final case class Program(code: IndexedSeq[Instruction]) {
  def size: Int = code.size
  def at(i: Int): Instruction = code(i)
}

object Program {
  /** Compiles a declared pattern; variables become indexes. */
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
      case "permutation" => alternatives(
          parts(node, "permutation").indices.permutations.toSeq.map(_.map(parts(node, "permutation")(_))))
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
        if (most == null || most.isNull) addUnbounded(node.get("repeat"), least, greedy)
        else addBounded(node.get("repeat"), least, most.asInt, greedy)
    }

    private def alternatives(sequences: Seq[Seq[JsonNode]]): Unit = {
      val exits = sequences.init.map { sequence =>
        val split = placeholder()
        sequence.foreach(add)
        val exit = placeholder()
        code(split) = Split(split + 1, code.size)
        exit
      }
      sequences.last.foreach(add)
      exits.foreach(exit => code(exit) = Jump(code.size))
    }

    /** The last mandatory copy is the one that loops. */
    private def addUnbounded(of: JsonNode, least: Int, greedy: Boolean): Unit = {
      val entry = if (least == 0) placeholder() else -1
      (1 until least).foreach(_ => add(of))
      val begin = code.size
      add(of)
      code += split(begin, code.size + 1, greedy)
      if (entry >= 0) code(entry) = split(entry + 1, code.size, greedy)
    }

    private def addBounded(of: JsonNode, least: Int, most: Int, greedy: Boolean): Unit = {
      (0 until least).foreach(_ => add(of))
      val splits = (least until most).map { _ =>
        val at = placeholder()
        add(of)
        at
      }
      splits.foreach(at => code(at) = split(at + 1, code.size, greedy))
    }

    private def split(again: Int, on: Int, greedy: Boolean): Instruction =
      if (greedy) Split(again, on) else Split(on, again)

    private def placeholder(): Int = {
      code += MatchEnd
      code.size - 1
    }

    private def parts(node: JsonNode, name: String): IndexedSeq[JsonNode] = node.get(name).elements.asScala
      .toIndexedSeq
  }
}
