package org.apache.spark.sql.headrace.copytext

import java.nio.{ByteBuffer, ByteOrder}

/** The hashes of an epoch's keys, to find those that come more than once; Arrow in Python took several times as long. */
final class KeyHashes {
  private var slots = new Array[Long](1 << 16) // a hash is at or after the place that its lowest bits tell, 0 is none
  private var used = 0
  private var zero = false

  /** Adds hashes, eight bytes each, the lowest first, and gives back those that were there before. Called from Python. */
  def repeated(bytes: Array[Byte]): Array[Byte] = {
    val hashes = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer()
    val again = new TextBuffer
    while (hashes.hasRemaining) {
      val hash = hashes.get()
      if (!add(hash)) again.raw(hash)
    }
    again.take()
  }

  /** Whether it is new. */
  private def add(hash: Long): Boolean = {
    val place = find(hash)
    val known = if (hash == 0) zero else slots(place) == hash
    if (hash == 0) zero = true
    else if (!known) {
      slots(place) = hash
      used += 1
      if (2 * used > slots.length) grow()
    }
    !known
  }

  private def grow(): Unit = {
    val before = slots
    slots = new Array[Long](2 * before.length)
    before.foreach(hash => if (hash != 0) slots(find(hash)) = hash)
  }

  private def find(hash: Long): Int = {
    val last = slots.length - 1
    var place = hash.toInt & last
    while (slots(place) != 0 && slots(place) != hash) place = (place + 1) & last
    place
  }
}
