package org.apache.spark.sql.headrace.rules

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.headrace.patterns.{PartialMatches, PartialMatchesCodec, TakenRow, TakenRowCodec}

/** What a key remembers of all rules: for each that has begun, its partial matches. */
final class RulesState(rules: Int) {
  /** Rows are numbered in one order for all rules, so that these can share them. */
  var number: Long = 0
  /** By place in the set; null where a rule has not begun. */
  val partials: Array[PartialMatches] = new Array[PartialMatches](rules)
  var begun: Int = 0
  /** No rule wants `advance` before this time. */
  var due: Long = Long.MaxValue
  var dropped: Int = 0

  def put(rule: Int, memory: PartialMatches): Unit = {
    if (partials(rule) == null) begun += 1
    partials(rule) = memory
  }

  def remove(rule: Int): Unit = {
    if (partials(rule) != null) begun -= 1
    partials(rule) = null
  }

  def foreach(call: (Int, PartialMatches) => Unit): Unit = if (begun > 0) {
    var i = 0
    while (i < partials.length) {
      if (partials(i) != null) call(i, partials(i))
      i += 1
    }
  }
}

/** As bytes: the rows, each once whichever rules took it, then each rule under its serial number. */
final class RulesCodec(set: RuleSet, columns: Int, codec: Int => PartialMatchesCodec) {
  private val rows = new TakenRowCodec(columns)
  private val places = set.rules.zipWithIndex.map { case (rule, i) => rule.serial -> i }.toMap
  private val ways = new Output(256, -1)

  def write(memory: RulesState, out: Output): Unit = {
    val links = new Array[PartialMatchesCodec.Links](memory.partials.length)
    val (ordered, place) = (mutable.ArrayBuffer.empty[TakenRow], mutable.LongMap.empty[Int])
    memory.foreach { (rule, partials) =>
      links(rule) = PartialMatchesCodec.links(partials)
      links(rule).keysIterator.map(_.taken).foreach { t =>
        if (!place.contains(t.number)) {
          place(t.number) = ordered.size
          ordered += t
        }
      }
    }
    out.writeVarLong(memory.number, true)
    rows.write(ordered.toSeq, out)
    out.writeVarInt(memory.begun, true)
    memory.foreach { (rule, partials) =>
      ways.clear()
      codec(rule).writeWays(partials, links(rule), ways, t => place(t.number))
      out.writeVarInt(set.rules(rule).serial, true)
      out.writeVarInt(partials.partial.size - 1 + partials.complete.size, true)
      out.writeVarInt(ways.position, true)
      out.writeBytes(ways.getBuffer, 0, ways.position)
    }
  }

  /** Without those of rules that are no longer in force, which are counted. */
  def read(in: Input): RulesState = {
    val memory = new RulesState(set.rules.size)
    memory.number = in.readVarLong(true)
    val taken = rows.read(in)
    (0 until in.readVarInt(true)).foreach { _ =>
      val (serial, several, length) = (in.readVarInt(true), in.readVarInt(true), in.readVarInt(true))
      places.get(serial) match {
        case Some(rule) => memory.put(rule, codec(rule).readWays(in, taken, memory.number))
        case None =>
          memory.dropped += several
          in.skip(length.toLong)
      }
    }
    memory
  }
}
