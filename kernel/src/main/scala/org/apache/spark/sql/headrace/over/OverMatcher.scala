package org.apache.spark.sql.headrace.over

import scala.collection.mutable

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.headrace.operators.inorder.Matcher
import org.apache.spark.sql.headrace.operators.keyed.StepOutput
import org.apache.spark.sql.headrace.operators.{FrameAggregates, FrameRows, RowBytes, Time}
import org.apache.spark.sql.types.{DataType, IntegerType}

/** A row that a later frame contains, reduced to the columns of the aggregates, with its time and number. */
final class FrameRow(val row: UnsafeRow, val time: Long, val index: Long)

/** A row whose result waits for the rows that `lead` reads. */
final class WaitingRow(val row: UnsafeRow, val time: Long, val computed: UnsafeRow, val values: UnsafeRow)

/** State of one key. */
final class OverMemory(val buffer: InternalRow) {
  /** Number of rows so far, and number of groups of peers. */
  var index: Long = 0
  var groups: Long = 0

  /** Rows that the next frame may contain, with a bound. */
  val frame: mutable.ArrayBuffer[FrameRow] = mutable.ArrayBuffer.empty

  /** Values of the last rows, which `lag` reads, oldest first. */
  val past: mutable.ArrayBuffer[UnsafeRow] = mutable.ArrayBuffer.empty
  val waiting: mutable.ArrayBuffer[WaitingRow] = mutable.ArrayBuffer.empty

  /** Sums of stretches of `frame`, for one call. */
  var sums: FrameAggregates = _

  def rowsOf(byTime: Boolean): FrameRows = new FrameRows {
    override def row(i: Int): InternalRow = frame(i).row
    override def position(i: Int): Long = if (byTime) frame(i).time else frame(i).index
  }

  /** Rows of one time, which are processed together. Empty between micro-batches. */
  val peers: mutable.ArrayBuffer[InternalRow] = mutable.ArrayBuffer.empty
  var peersTime: Long = Time.None
}

/** Evaluates window functions over rows that arrive in order; each row gives one result. */
final class OverMatcher(step: OrderedOverStep) extends Matcher {
  override type Memory = OverMemory
  private val functions = step.functions
  private val aggregates = functions.aggregates.map(a => if (bounded) a.withInput(needed) else a)
  private val input = step.columns.input
  private val ties = if (step.ties.isEmpty) None else Some(RowOrdering.create(step.ties, input))
  private val ordinals = step.rows.columns.map(a => input.indexWhere(_.exprId == a.exprId)).toArray
  private val types = step.rows.columns.map(_.dataType).toArray
  private val copyRow = UnsafeProjection.create(input, input)
  private lazy val neededOf = UnsafeProjection.create(needed, input)
  private val computedTypes: Array[DataType] = aggregates.toSeq.flatMap(_.types).toArray ++
    functions.ranks.map(_ => IntegerType) ++ functions.neighbours.map(n => functions.valueTypes(n.value))
  private lazy val computedRow = UnsafeProjection.create(computedTypes)
  private val computed = new GenericInternalRow(functions.width)
  private val noRow = new GenericInternalRow(0)

  /** True if frames have a bound, so that their rows are stored instead of a buffer. */
  private def bounded: Boolean = functions.aggregates.isDefined &&
    (step.frame match {
      case RowsBefore(preceding) => preceding.isDefined
      case RangeBefore(preceding) => preceding.isDefined
    })

  private val byTime = step.frame.isInstanceOf[RangeBefore]

  /** The columns that the aggregates read. */
  private def needed: Seq[Attribute] = {
    val used = functions.aggregates.map(_.columns).getOrElse(Set.empty[Int])
    step.columns.input.indices.filter(used.contains).map(step.columns.input(_))
  }
  private val width = if (bounded) needed.size else 0

  /** True if the state of a key is needed only until its rows have left all frames. */
  private val expires = step.frame.isInstanceOf[RangeBefore] && bounded && functions.ranks.isEmpty &&
    functions.neighbours.isEmpty

  override def empty: OverMemory = new OverMemory(if (bounded) null else aggregates.map(_.create()).orNull)
  override def isEmpty(memory: OverMemory): Boolean = memory.index == 0

  override def take(
      key: InternalRow, memory: OverMemory, row: InternalRow, time: Long, out: StepOutput): Unit = {
    memory.peers += row
    memory.peersTime = time
    if (step.arrival || step.clockTime) flush(memory, out)
  }

  override def advance(key: InternalRow, memory: OverMemory, time: Long, out: StepOutput): Unit = {
    if (memory.peers.nonEmpty && memory.peersTime < time) flush(memory, out)
    step.frame match {
      case RangeBefore(Some(preceding)) if bounded =>
        val gone = memory.frame.indexWhere(_.time >= time - preceding)
        memory.frame.remove(0, if (gone < 0) memory.frame.size else gone)
      case _ =>
    }
    if (expires && memory.frame.isEmpty && memory.peers.isEmpty) memory.index = 0
  }

  override def finish(key: InternalRow, memory: OverMemory, out: StepOutput): Unit = {
    if (memory.peers.nonEmpty) flush(memory, out)
    while (memory.waiting.nonEmpty) emitFirst(memory, out)
    memory.index = 0
    memory.frame.clear()
  }

  override def due(memory: OverMemory): Long = step.frame match {
    case RangeBefore(Some(preceding)) if expires && memory.frame.nonEmpty =>
      Time.plus(Time.plus(memory.frame.last.time, preceding), 1)
    case _ if memory.waiting.nonEmpty => Time.End
    case _ => Long.MaxValue
  }

  /** Processes rows of equal time, by group of peers. */
  private def flush(memory: OverMemory, out: StepOutput): Unit = {
    val rows = ties.fold(memory.peers.toVector)(order => memory.peers.toVector.sorted(order))
    val time = memory.peersTime
    memory.peers.clear()
    var from = 0
    while (from < rows.size) {
      val until = ties.fold(rows.size) { order =>
        val end = rows.indexWhere(order.compare(rows(from), _) != 0, from)
        if (end < 0) rows.size else end
      }
      process(memory, rows.slice(from, until), time, out)
      from = until
    }
  }

  private def process(memory: OverMemory, peers: Seq[InternalRow], time: Long, out: StepOutput): Unit = {
    val start = memory.index
    memory.groups += 1
    step.frame match {
      case RowsBefore(_) => peers.foreach { row =>
          add(memory, row, time)
          emit(memory, row, time, evaluate(memory, time), start, out)
          memory.index += 1
        }
      case RangeBefore(_) =>
        peers.zipWithIndex.foreach { case (row, i) => add(memory, row, time, i) }
        val result = evaluate(memory, time)
        peers.foreach { row =>
          emit(memory, row, time, result, start, out)
          memory.index += 1
        }
    }
  }

  private def add(memory: OverMemory, row: InternalRow, time: Long, offset: Int = 0): Unit = aggregates
    .foreach { functions =>
      if (bounded) memory.frame += new FrameRow(neededOf(row).copy(), time, memory.index + offset)
      else functions.update(memory.buffer, row)
    }

  /** Evaluates the aggregates over the present frame. */
  private def evaluate(memory: OverMemory, time: Long): InternalRow = aggregates
    .fold[InternalRow](noRow) { functions =>
      val buffer =
        if (!bounded) memory.buffer
        else {
          step.frame match {
            case RowsBefore(preceding) =>
              val extra = memory.frame.size - preceding.get - 1
              if (extra > 0) memory.frame.remove(0, extra.toInt)
            case RangeBefore(preceding) =>
              val gone = memory.frame.indexWhere(_.time >= time - preceding.get)
              if (gone > 0) memory.frame.remove(0, gone)
          }
          sums(memory).over(0, memory.frame.size)
        }
      functions.result(buffer, InternalRow.empty)
    }

  private def sums(memory: OverMemory): FrameAggregates = {
    if (memory.sums == null) {
      val size = step.frame match {
        case RowsBefore(preceding) => preceding.get + 1
        case RangeBefore(preceding) => preceding.get
      }
      memory.sums = new FrameAggregates(memory.rowsOf(byTime), size, aggregates.get)
    }
    memory.sums
  }

  private def emit(memory: OverMemory, row: InternalRow, time: Long, frame: InternalRow, start: Long,
      out: StepOutput): Unit = {
    functions.set(computed, frame, memory.index, start, memory.groups)
    if (functions.neighbours.isEmpty) out.emit(0, output(row, time, functions.result(row, computed)))
    else {
      val values = functions.valuesOf(row).copy()
      functions.setNeighbours(computed, values) { shift =>
        if (shift == 0) values else if (shift > 0) null else past(memory, -shift)
      }
      memory.waiting += new WaitingRow(copyRow(row).copy(), time, computedRow(computed).copy(), values)
      memory.past += values
      if (memory.past.size > functions.back) memory.past.remove(0, memory.past.size - functions.back)
      if (memory.waiting.size > functions.ahead) emitFirst(memory, out)
    }
  }

  private def past(memory: OverMemory, rows: Int): InternalRow =
    if (rows > memory.past.size) null else memory.past(memory.past.size - rows)

  /** Emits the row that has waited longest; rows behind the last one do not exist. */
  private def emitFirst(memory: OverMemory, out: StepOutput): Unit = {
    val first = memory.waiting.head
    val complete = new GenericInternalRow(functions.width)
    computedTypes.indices.foreach(i => complete.update(i, first.computed.get(i, computedTypes(i))))
    val base = functions.width - functions.neighbours.size
    functions.neighbours.zipWithIndex.foreach { case (neighbour, i) =>
      if (neighbour.shift > 0) {
        val other = memory.waiting.lift(neighbour.shift).map(_.values)
        val at = if (other.isDefined) neighbour.value else neighbour.default
        complete.update(base + i, other.getOrElse(first.values).get(at, functions.valueTypes(at)))
      }
    }
    memory.waiting.remove(0)
    out.emit(0, output(first.row, first.time, functions.result(first.row, complete)))
  }

  private def output(row: InternalRow, time: Long, result: UnsafeRow): InternalRow = {
    val values = new Array[Any](ordinals.length + functions.resultTypes.length + 1)
    ordinals.indices.foreach(i => values(i) = row.get(ordinals(i), types(i)))
    functions.resultTypes.indices.foreach { i =>
      values(ordinals.length + i) = result.get(i, functions.resultTypes(i))
    }
    values(values.length - 1) = time
    new GenericInternalRow(values)
  }

  override def write(memory: OverMemory, out: Output): Unit = {
    out.writeVarLong(memory.index, true)
    out.writeVarLong(memory.groups, true)
    if (memory.buffer != null) RowBytes.write(aggregates.get.write(memory.buffer), out)
    out.writeVarInt(memory.frame.size, true)
    memory.frame.foreach { entry =>
      out.writeVarLong(entry.time, true)
      out.writeVarLong(entry.index, true)
      RowBytes.write(entry.row, out)
    }
    out.writeVarInt(memory.past.size, true)
    memory.past.foreach(RowBytes.write(_, out))
    out.writeVarInt(memory.waiting.size, true)
    memory.waiting.foreach { entry =>
      out.writeVarLong(entry.time, true)
      Seq(entry.row, entry.computed, entry.values).foreach(RowBytes.write(_, out))
    }
  }

  override def read(in: Input): OverMemory = {
    val (index, groups) = (in.readVarLong(true), in.readVarLong(true))
    val memory =
      new OverMemory(if (bounded || aggregates.isEmpty) null else aggregates.get.read(RowBytes.read(in)))
    memory.index = index
    memory.groups = groups
    (0 until in.readVarInt(true)).foreach { _ =>
      val (time, number) = (in.readVarLong(true), in.readVarLong(true))
      memory.frame += new FrameRow(RowBytes.read(in, width), time, number)
    }
    (0 until in.readVarInt(true)).foreach(_ => memory.past += RowBytes.read(in, functions.valueTypes.length))
    (0 until in.readVarInt(true)).foreach { _ =>
      val time = in.readVarLong(true)
      memory.waiting += new WaitingRow(RowBytes.read(in, input.size), time,
        RowBytes.read(in, computedTypes.length), RowBytes.read(in, functions.valueTypes.length))
    }
    memory
  }
}
