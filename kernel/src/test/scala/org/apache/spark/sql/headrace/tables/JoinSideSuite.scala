package org.apache.spark.sql.headrace.tables

import com.esotericsoftware.kryo.io.Output

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.headrace.operators.RowBytes
import org.apache.spark.sql.headrace.operators.state.MemoryStore
import org.apache.spark.sql.types.{LongType, StructType}

/** The stored rows of one side of a join. */
class JoinSideSuite extends munit.FunSuite {
  private val toRow = UnsafeProjection.create(new StructType().add("n", LongType))
  private def row(n: Long): UnsafeRow = toRow(InternalRow(n)).copy()

  test("a row is stored once with its copies, beside those of the other side") {
    val store = new MemoryStore
    val left = new JoinSide(store, isLeft = true, 1, counted = true)
    val right = new JoinSide(store, isLeft = false, 1, counted = false)
    left.put(JoinRow(row(1), 2, 7))
    right.put(JoinRow(row(1), 3, 0))
    assertEquals(left.rows, Vector(JoinRow(row(1), 2, 7)))
    assertEquals(right.find(row(1)), Some(JoinRow(row(1), 3, 0)))
    assertEquals(store.size, 2)
    left.put(JoinRow(row(1), 0, 0))
    assertEquals((left.rows, store.size), (Vector.empty, 1))
  }

  test("rows are read in the order of their arrival, and those without one first") {
    val store = new MemoryStore
    val out = new Output(64, -1) // as versions before the order wrote it
    out.writeVarInt(1, true)
    out.writeVarLong(1, true)
    RowBytes.write(row(9), out)
    val side = new JoinSide(store, isLeft = false, 1, counted = false)
    (1L to 20L).foreach { n => side.put(JoinRow(row(n), 1, 0, Arrival(1 + n % 2, 100 - n))) }
    store.put(store.all.next()._1, out.toBytes)
    val rows = new JoinSide(store, isLeft = false, 1, counted = false).rows
    assertEquals(rows.head, JoinRow(row(9), 2, 0))
    assertEquals(rows.tail.map(_.arrival), rows.tail.map(_.arrival).sorted)
    assertEquals(rows.size, 20)
  }

  test("the list and the copies of version 0.2 are read") {
    val store = new MemoryStore
    store.put(0, RowBag.write(Seq(Entry(row(1), 0), Entry(row(2), 0), Entry(row(1), 0))))
    new RowBag(store, 1).add(Entry(row(5), 0))
    new RowBag(store, 1).add(Entry(row(5), 0))
    val right = new JoinSide(store, isLeft = false, 1, counted = false)
    val left = new JoinSide(store, isLeft = true, 1, counted = false)
    assertEquals(
      right.rows.map(held => held.row.getLong(0) -> held.copies).sorted, Vector(1L -> 2L, 2L -> 1L))
    assertEquals(left.find(row(5)), Some(JoinRow(row(5), 2, 0)))
    val totals = new JoinTotals(store, left, right)
    assertEquals((totals.leftRows, totals.rightRows), (2L, 3L))
    assertEquals(store.get(0), null)
  }
}
