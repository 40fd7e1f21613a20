package org.apache.spark.sql.headrace.rules

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.headrace.patterns.{PartialMatches, PartialMatchesCodec, TakenRow, TakenRowCodec}

/** State of a key: the partial matches of each started rule. */
final class RulesState(rules: Int) {
  /** Rows are numbered once for all rules, so that rules can share them. */
  var number: Long = 0

  /** By index in the set; null for a rule without partial matches. */
  val partials: Array[PartialMatches] = new Array[PartialMatches](rules)
  var started: Int = 0

  /** Earliest time at which a rule needs `advance`. */
  var due: Long = Long.MaxValue
  var dropped: Int = 0

  def put(rule: Int, memory: PartialMatches): Unit = {
    if (partials(rule) == null) started += 1
    partials(rule) = memory
  }

  def remove(rule: Int): Unit = {
    if (partials(rule) != null) started -= 1
    partials(rule) = null
  }

  def foreach(call: (Int, PartialMatches) => Unit): Unit = if (started > 0) {
    var i = 0
    while (i < partials.length) {
      if (partials(i) != null) call(i, partials(i))
      i += 1
    }
  }
}

/** Encodes the shared rows once, then each rule under its serial. */
final class RulesCodec(set: RuleSet, columns: Int, codec: Int => PartialMatchesCodec) {
  private val rows = new TakenRowCodec(columns)
  private val places = set.rules.zipWithIndex.map { case (rule, i) => rule.serial -> i }.toMap
  private val paths = new Output(256, -1)

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
    out.writeVarInt(memory.started, true)
    memory.foreach { (rule, partials) =>
      paths.clear()
      codec(rule).writePaths(partials, links(rule), paths, t => place(t.number))
      out.writeVarInt(set.rules(rule).serial, true)
      out.writeVarInt(partials.partial.size - 1 + partials.complete.size, true)
      out.writeVarInt(paths.position, true)
      out.writeBytes(paths.getBuffer, 0, paths.position)
    }
  }

  /** Skips and counts partial matches of rules that are no longer active. */
  def read(in: Input): RulesState = {
    val memory = new RulesState(set.rules.size)
    memory.number = in.readVarLong(true)
    val taken = rows.read(in)
    (0 until in.readVarInt(true)).foreach { _ =>
      val (serial, count, length) = (in.readVarInt(true), in.readVarInt(true), in.readVarInt(true))
      places.get(serial) match {
        case Some(rule) => memory.put(rule, codec(rule).readPaths(in, taken, memory.number))
        case None =>
          memory.dropped += count
          in.skip(length.toLong)
      }
    }
    memory
  }
}
