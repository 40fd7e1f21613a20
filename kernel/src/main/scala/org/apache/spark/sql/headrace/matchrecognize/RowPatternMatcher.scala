package org.apache.spark.sql.headrace.matchrecognize

import com.esotericsoftware.kryo.io.{Input, Output => Bytes}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BaseOrdering, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.headrace.operators.keyed.StepOutput
import org.apache.spark.sql.headrace.operators.{RowBytes, Time}
import org.apache.spark.sql.headrace.operators.inorder.Matcher

/**
 * Finds the matches of a MATCH_RECOGNIZE among the rows of one key. A match is emitted when no later row can
 * change it. The state consists of the rows that may still be needed; the current attempt is rebuilt from
 * them.
 *
 * @param ties the order of rows of equal time; default: arrival order. Such rows are complete before time
 *   advances, so they are buffered only during a call
 */
final class RowPatternMatcher(pattern: RowPattern, output: RowPatternOutput, stored: UnsafeProjection,
    ties: Option[BaseOrdering], onTest: PatternSearcher.TestListener)
    extends Matcher {
  override type Memory = PartitionSearch
  private val searcher = new PatternSearcher(pattern, onTest)

  /** True if a partition without stored rows is equivalent to a new one. */
  private val resettable = !pattern.program.code.contains(AtStart) && pattern.back == 0 &&
    !(pattern.conditions ++ pattern.measures).filter(_ != null).exists(_.usesNumber)

  override def empty: PartitionSearch = new PartitionSearch
  override def isEmpty(search: PartitionSearch): Boolean = search.rows.isEmpty && search.tied.isEmpty &&
    (search.first == 0 || resettable)

  override def take(
      key: InternalRow, search: PartitionSearch, row: InternalRow, time: Long, out: StepOutput): Unit = {
    val own = stored(row).copy()
    if (ties.isEmpty) add(search, own, time, out)
    else {
      search.tied += own
      search.tiedAt = time
    }
  }

  private def add(search: PartitionSearch, row: InternalRow, time: Long, out: StepOutput): Unit = {
    search.rows += row
    search.times += time
    find(search, out)
  }

  /** Processes the rows of the completed time in order. */
  private def releaseTied(search: PartitionSearch, out: StepOutput): Unit = if (search.tied.nonEmpty) {
    val rows = search.tied.sorted(ties.get)
    search.tied.clear()
    rows.foreach(add(search, _, search.tiedAt, out))
  }

  override def advance(key: InternalRow, search: PartitionSearch, time: Long, out: StepOutput): Unit = {
    if (time > search.tiedAt) releaseTied(search, out)
    search.time = math.max(search.time, time)
    if (searcher.due(search) <= search.time) find(search, out)
  }

  override def finish(key: InternalRow, search: PartitionSearch, out: StepOutput): Unit = {
    releaseTied(search, out)
    search.ended = true
    find(search, out)
  }

  override def due(search: PartitionSearch): Long =
    if (search.at < search.count) math.min(searcher.due(search), Time.End) else Long.MaxValue

  /** Rebuilds the attempt of a stored search. */
  def resume(search: PartitionSearch): Unit = find(search, (_, _) => ())
  private def find(search: PartitionSearch, out: StepOutput): Unit = searcher
    .search(search, (row, measures) => out.emit(0, output.row(row, measures)))

  override def write(search: PartitionSearch, out: Bytes): Unit = {
    Seq(search.first, search.at, search.number, search.matchedTo).foreach(out.writeLong)
    out.writeVarInt(search.rows.size, true)
    search.rows.iterator.zip(search.times.iterator).foreach { case (row: UnsafeRow, time) =>
      out.writeLong(time)
      out.writeVarInt(row.numFields, true)
      RowBytes.write(row, out)
    }
  }

  override def read(in: Input): PartitionSearch = {
    val search = new PartitionSearch
    search.first = in.readLong()
    search.at = in.readLong()
    search.number = in.readLong()
    search.matchedTo = in.readLong()
    (0 until in.readVarInt(true)).foreach { _ =>
      search.times += in.readLong()
      val width = in.readVarInt(true)
      search.rows += RowBytes.read(in, width)
    }
    search
  }
}
