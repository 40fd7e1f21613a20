package org.apache.spark.sql.headrace.operators.state

import scala.util.Random

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{BinaryType, DataType, LongType}

class OrderedBufferSuite extends munit.FunSuite {
  private val toRow = UnsafeProjection.create(Array[DataType](LongType, BinaryType))

  private def row(number: Long, size: Int): UnsafeRow = toRow(InternalRow(number, new Array[Byte](size)))
    .copy()

  /** Stores and loads the buffer, as between two micro-batches. */
  private def reload(buffer: OrderedBuffer, store: MemoryStore): OrderedBuffer = {
    val out = new Output(64, -1)
    buffer.write(out, store)
    val (bytes, copy) = (out.toBytes, new OrderedBuffer)
    copy.read(new Input(bytes), bytes)
    copy
  }

  private def numbers(rows: Array[BufferedRow]): Seq[Long] = rows.toSeq.map(_.row.getLong(0))

  test("rows are released by time, rows of equal time in arrival order") {
    val (store, buffer) = (new MemoryStore, new OrderedBuffer)
    Seq(3L, 1L, 2L, 1L).zipWithIndex.foreach { case (time, i) => buffer.add(time, row(i, 0)) }
    val stored = reload(buffer, store)
    assertEquals(stored.earliest, 1L)
    assertEquals(numbers(stored.release(3, store)), Seq(1L, 3L, 2L))
    assertEquals(stored.earliest, 3L)
    assertEquals(numbers(reload(stored, store).release(Long.MaxValue, store)), Seq(0L))
  }

  test("rows beyond the tail's size go to slots of their own, which are freed") {
    val random = new Random(7)
    val store = new MemoryStore
    var buffer = new OrderedBuffer
    val times = Seq.fill(200)(random.nextInt(50).toLong)
    times.zipWithIndex.foreach { case (time, i) =>
      buffer.add(time, row(i, 500))
      if (i % 7 == 0) buffer = reload(buffer, store)
    }
    buffer = reload(buffer, store)
    assert(store.size > 1)
    val expected = times.zipWithIndex.sortBy(_._1).map(_._2.toLong)
    val (first, rest) = (buffer.release(20, store), buffer.release(Long.MaxValue, store))
    assertEquals(numbers(first ++ rest), expected)
    assertEquals(buffer.earliest, Long.MaxValue)
    assertEquals(store.size, 0)
  }
}
