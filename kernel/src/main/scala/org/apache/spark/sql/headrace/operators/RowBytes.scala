package org.apache.spark.sql.headrace.operators

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Encodes rows in state: their length, then their bytes. */
object RowBytes {
  def write(row: UnsafeRow, out: Output): Unit = write(row.getBytes, out)

  def write(bytes: Array[Byte], out: Output): Unit = {
    out.writeVarInt(bytes.length, true)
    out.writeBytes(bytes)
  }

  def read(in: Input): Array[Byte] = in.readBytes(in.readVarInt(true))

  def read(in: Input, width: Int): UnsafeRow = {
    val bytes = read(in)
    val row = new UnsafeRow(width)
    row.pointTo(bytes, bytes.length)
    row
  }
}
