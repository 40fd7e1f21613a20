/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.lines

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{classic, DataFrame}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._

/**
 * Rows as lines of text that a database loads, several to a value: what Arrow costs a value is then shared by many rows.
 *
 * A line is the row's number within the epoch, then its values, with tabs between them and a line feed at the end. A null is a
 * backslash and N; a backslash, tab, line feed and carriage return within a value are escaped as `COPY` and `LOAD DATA` read them.
 */
object Lines {
  /** Arrow hands on 10,000 values at once, unless told otherwise: some 3 MB, after which a database can begin with them. */
  private val PieceBytes = 1 << 8

  private val schema = StructType(Seq(StructField("lines", BinaryType), StructField("keys", BinaryType)))

  /**
   * `frame` has whole numbers and text. The result has two columns of bytes: lines, and their keys where `keyed` says that the
   * last column isn't part of the line but a hash of the row's key, eight bytes a row. A row whose hash is null adds none.
   * Called from Python.
   */
  def packed(frame: DataFrame, keyed: Boolean): DataFrame = {
    val kinds = frame.schema.map(_.dataType).toArray
    val lines: RDD[InternalRow] = frame.queryExecution.toRdd.mapPartitions(new Pieces(_, kinds, keyed))
    frame.sparkSession.asInstanceOf[classic.SparkSession].internalCreateDataFrame(lines, schema)
  }

  private final class Pieces(rows: Iterator[InternalRow], kinds: Array[DataType], keyed: Boolean)
      extends Iterator[InternalRow] {
    private val width = if (keyed) kinds.length - 1 else kinds.length
    private val piece = new Piece
    private val keys = new Piece
    private var number = TaskContext.getPartitionId().toLong << 33 // as monotonically_increasing_id has it

    override def hasNext: Boolean = rows.hasNext

    override def next(): InternalRow = {
      line(rows.next())
      while (piece.size < PieceBytes && rows.hasNext) line(rows.next())
      new GenericInternalRow(Array[Any](piece.take(), keys.take()))
    }

    private def line(row: InternalRow): Unit = {
      piece.digits(number)
      number += 1
      var i = 0
      while (i < width) {
        piece.put('\t')
        if (row.isNullAt(i)) piece.absent() else value(row, i)
        i += 1
      }
      piece.put('\n')
      if (keyed && !row.isNullAt(width)) keys.raw(row.getLong(width))
    }

    private def value(row: InternalRow, i: Int): Unit = kinds(i) match {
      case LongType => piece.digits(row.getLong(i))
      case IntegerType => piece.digits(row.getInt(i))
      case ShortType => piece.digits(row.getShort(i))
      case ByteType => piece.digits(row.getByte(i))
      case _ => piece.text(row.getUTF8String(i))
    }
  }
}
