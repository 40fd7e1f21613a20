/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.windows

import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A row that waits for the watermark, as bytes: its time and itself. */
object Waiting {
  def write(time: Long, row: InternalRow): Array[Byte] = {
    val unsafe = row.asInstanceOf[UnsafeRow]
    val out = new Output(16 + unsafe.getSizeInBytes)
    out.writeLong(time)
    out.writeInt(unsafe.numFields)
    out.writeBytes(unsafe.getBytes)
    out.toBytes
  }

  def time(bytes: Array[Byte]): Long = new Input(bytes).readLong()

  def read(bytes: Array[Byte]): Event = {
    val in = new Input(bytes)
    val time = in.readLong()
    val row = new UnsafeRow(in.readInt())
    val own = in.readBytes(bytes.length - 12)
    row.pointTo(own, own.length)
    Event(row, Some(time))
  }
}
