package org.apache.spark.sql.headrace.copytext

import java.util.{List => JList}

import scala.jdk.CollectionConverters._

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.sql.{classic, DataFrame}

/**
 * Rows as lines of text that a database loads, several to a value: what Arrow costs a value is then shared by many rows.
 *
 * A line is the row's number within the epoch, then its values, with tabs between them and a line feed at the end. A null is a
 * backslash and N; a backslash, tab, line feed and carriage return within a value are escaped as `COPY` and `LOAD DATA` read them.
 */
object CopyText {
  /** Arrow hands on 10,000 values at once, unless told otherwise: some 3 MB, after which a database can begin with them. */
  private[copytext] val PieceBytes = 1 << 8

  private val schema = StructType(Seq(StructField("lines", BinaryType), StructField("keys", BinaryType)))

  /**
   * `frame` has whole numbers and text. The result has two columns of bytes: lines, and hashes of keys. Called from Python.
   *
   * With `key`, the places of a key's columns, rows are sorted by it, in runs (`SortedRun`). The last column is then not part of the
   * line but a hash of the row's key, eight bytes a row. A row whose hash is null adds none.
   */
  def packed(frame: DataFrame, key: JList[Integer]): DataFrame = {
    val kinds = frame.schema.map(_.dataType).toArray
    val places = key.asScala.map(_.intValue).toArray
    val lines: RDD[InternalRow] = frame.queryExecution.toRdd.mapPartitions { rows =>
      if (places.isEmpty) new UnsortedLines(rows, new CopyTextLine(kinds)) else new SortedRuns(rows, kinds, places).flatten
    }
    frame.sparkSession.asInstanceOf[classic.SparkSession].internalCreateDataFrame(lines, schema)
  }

  /** The number of a task's first row, as `monotonically_increasing_id` has it. */
  private[copytext] def first: Long = TaskContext.getPartitionId().toLong << 33

  private[copytext] def value(lines: TextBuffer, hashes: TextBuffer): InternalRow =
    new GenericInternalRow(Array[Any](lines.take(), hashes.take()))

  /** Rows as they come. */
  private final class UnsortedLines(rows: Iterator[InternalRow], line: CopyTextLine) extends Iterator[InternalRow] {
    private val piece, none = new TextBuffer
    private var number = first

    override def hasNext: Boolean = rows.hasNext

    override def next(): InternalRow = {
      do {
        piece.digits(number)
        line.put(rows.next(), piece)
        number += 1
      } while (piece.size < PieceBytes && rows.hasNext)
      value(piece, none)
    }
  }
}

/** Puts rows, the first columns of which have these types, as what follows a line's number. */
private[copytext] final class CopyTextLine(kinds: Array[DataType]) {
  def put(row: InternalRow, to: TextBuffer): Unit = {
    var i = 0
    while (i < kinds.length) {
      to.put('\t')
      if (row.isNullAt(i)) to.absent()
      else if (CopyTextLine.whole(kinds(i))) to.digits(CopyTextLine.number(row, i, kinds(i)))
      else to.text(row.getUTF8String(i))
      i += 1
    }
    to.put('\n')
  }
}

private[copytext] object CopyTextLine {
  def whole(kind: DataType): Boolean = kind.isInstanceOf[IntegralType]

  def number(row: InternalRow, i: Int, kind: DataType): Long = kind match {
    case LongType => row.getLong(i)
    case IntegerType => row.getInt(i)
    case ShortType => row.getShort(i)
    case ByteType => row.getByte(i)
  }
}
