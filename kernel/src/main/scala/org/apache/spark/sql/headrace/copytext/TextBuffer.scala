package org.apache.spark.sql.headrace.copytext

import java.util.{Arrays => JArrays}

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** Text that grows at its end, mostly made of values in the form that `COPY` and `LOAD DATA` read. */
private[copytext] final class TextBuffer {
  import TextBuffer._

  private var bytes = new Array[Byte](4096)
  private var end = 0

  def size: Int = end

  def apply(place: Int): Byte = bytes(place)

  /** What has been put since the last time. */
  def take(): Array[Byte] = {
    val taken = JArrays.copyOf(bytes, end)
    clear()
    taken
  }

  def clear(): Unit = end = 0

  /** A part of another one, as it is. */
  def part(of: TextBuffer, from: Int, until: Int): Unit = {
    room(until - from)
    System.arraycopy(of.bytes, from, bytes, end, until - from)
    end += until - from
  }

  def put(byte: Int): Unit = {
    room(1)
    append(byte.toByte)
  }

  /** Eight bytes, the lowest first. */
  def raw(number: Long): Unit = {
    room(8)
    var shift = 0
    while (shift < 64) {
      append((number >>> shift).toByte)
      shift += 8
    }
  }

  /** Text as it is. */
  def raw(value: UTF8String): Unit = {
    room(value.numBytes)
    copy(value)
  }

  /** A value that is null. */
  def absent(): Unit = {
    room(2)
    append(Backslash)
    append('N'.toByte)
  }

  def digits(number: Long): Unit =
    if (number == Long.MinValue) text(UTF8String.fromString(number.toString)) // it has no positive counterpart
    else {
      room(20)
      if (number < 0) append('-'.toByte)
      var rest = Math.abs(number)
      val begin = end
      append((rest % 10 + '0').toByte)
      rest /= 10
      while (rest != 0) {
        append((rest % 10 + '0').toByte)
        rest /= 10
      }
      reverse(begin, end - 1)
    }

  def text(value: UTF8String): Unit = {
    room(2 * value.numBytes)
    var i = end
    copy(value)
    while (i < end && !special(bytes(i))) i += 1
    if (i < end) escape(JArrays.copyOfRange(bytes, i, end), i)
  }

  /** Puts `value` at a place, with a backslash before what needs one; there is room for it. */
  private def escape(value: Array[Byte], at: Int): Unit = {
    end = at
    value.foreach { byte =>
      if (special(byte)) append(Backslash)
      append(if (byte == Tab) 't'.toByte else if (byte == Feed) 'n'.toByte else if (byte == Return) 'r'.toByte else byte)
    }
  }

  private def copy(value: UTF8String): Unit = {
    value.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + end)
    end += value.numBytes
  }

  private def special(byte: Byte): Boolean = byte == Backslash || byte == Tab || byte == Feed || byte == Return

  private def append(byte: Byte): Unit = {
    bytes(end) = byte
    end += 1
  }

  private def reverse(from: Int, to: Int): Unit = {
    var left = from
    var right = to
    while (left < right) {
      val byte = bytes(left)
      bytes(left) = bytes(right)
      bytes(right) = byte
      left += 1
      right -= 1
    }
  }

  private def room(more: Int): Unit =
    if (bytes.length - end < more) bytes = JArrays.copyOf(bytes, Math.max(2 * bytes.length, end + more))
}

private object TextBuffer {
  private val Backslash = '\\'.toByte
  private val Tab = '\t'.toByte
  private val Feed = '\n'.toByte
  private val Return = '\r'.toByte
}
