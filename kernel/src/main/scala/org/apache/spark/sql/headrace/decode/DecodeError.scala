package org.apache.spark.sql.headrace.decode

import scala.util.control.NoStackTrace

/**
 * Why one record doesn't decode. Thrown inside a decoder and caught by [[Decode]]; it carries no stack, so that a
 * source full of bad records stays fast.
 *
 * @param reason what was expected, what came and at which byte, on one line
 * @param field the path of the field (`place.tags[2]`), or null when the record as a whole is wrong
 */
final class DecodeError(val reason: String, val field: String)
  extends RuntimeException(reason) with NoStackTrace

/** The words of rejections, so that every format speaks alike. */
object DecodeError {
  private val MaxShown = 60

  def record(reason: String): DecodeError = new DecodeError(reason, null)

  def field(path: String, what: String): DecodeError = new DecodeError(s"field `$path`: $what", path)

  def expected(path: String, kind: String, got: String, byte: Long): DecodeError =
    field(path, s"expected $kind, got $got at byte $byte")

  /** The text in double quotes, on one line and not longer than a message can bear. */
  def quoted(text: String): String = {
    val cut = if (text.length > MaxShown) text.substring(0, MaxShown) + "..." else text
    val out = new StringBuilder("\"")
    cut.foreach {
      case '"' => out.append("\\\"")
      case '\\' => out.append("\\\\")
      case '\n' => out.append("\\n")
      case '\r' => out.append("\\r")
      case '\t' => out.append("\\t")
      case c if c < ' ' || c == '\u007f' => out.append(f"\\u${c.toInt}%04x")
      case c => out.append(c)
    }
    out.append('"').toString
  }
}
