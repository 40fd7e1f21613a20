package org.apache.spark.sql.headrace.decode

import java.lang.Long.{numberOfTrailingZeros, reverseBytes}
import java.nio.ByteOrder

import org.apache.spark.unsafe.Platform

/** Eight bytes of a record at once, as a number whose lowest byte is the first of them. */
private[decode] object EightBytes {
  final val Size = 8
  private final val Highest = 0x8080808080808080L
  private final val Lowest = 0x0101010101010101L
  private val inOrder = ByteOrder.nativeOrder == ByteOrder.LITTLE_ENDIAN

  def at(bytes: Array[Byte], place: Int): Long = {
    val raw = Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + place)
    if (inOrder) raw else reverseBytes(raw)
  }

  /**
   * How many bytes, up to eight, stand before the first that isn't plain text of JSON: a quote, a backslash, a control
   * character, or part of a character beyond ASCII. Each difference goes below zero, and so has its byte's highest bit, where
   * the byte is one of these. It also takes one from the byte above, but only the first counts.
   */
  def plain(eight: Long): Int = {
    val control = eight - Lowest * ' '
    val quote = (eight ^ Lowest * '"') - Lowest
    val backslash = (eight ^ Lowest * '\\') - Lowest
    numberOfTrailingZeros((control | quote | backslash | eight) & Highest) >> 3
  }

  /** How many digits, up to eight, come first. Digits are 0 to 9 when their common bits are gone; what is more overflows. */
  def countDigits(eight: Long): Int = {
    val values = eight ^ Lowest * '0'
    numberOfTrailingZeros((values + Lowest * (0x7F - 9) | values) & Highest) >> 3
  }

  /**
   * The number that the first digits write, at least one: they become the last of eight, then neighbours are put together,
   * then pairs, then fours.
   */
  def number(eight: Long, digits: Int): Long = {
    val last = eight << 64 - 8 * digits
    val pairs = (last & Lowest * 0x0F) * (1 + (10 << 8)) >>> 8
    val fours = (pairs & 0x00FF00FF00FF00FFL) * (1 + (100 << 16)) >>> 16
    (fours & 0x0000FFFF0000FFFFL) * (1 + (10000L << 32)) >>> 32
  }
}
