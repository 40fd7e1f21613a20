package org.apache.spark.sql.headrace.decode

import scala.util.control.NoStackTrace

/**
 * The reason why a record cannot be decoded. Thrown by decoders and caught by [[Decode]]; has no stack trace,
 * so that many bad records stay cheap.
 *
 * @param reason expected and actual value with the byte offset, on one line
 */
final class DecodeError(val reason: String, val field: String)
    extends RuntimeException(reason) with NoStackTrace

/** Builds the messages of all formats. */
object DecodeError {
  private val MaxShown = 60
  def record(reason: String): DecodeError = new DecodeError(reason, null)
  def field(path: String, what: String): DecodeError = new DecodeError(s"field `$path`: $what", path)
  def mismatch(path: String, kind: String, got: String, byte: Long, hint: String = ""): DecodeError =
    field(path, s"expected $kind, got $got at byte $byte$hint")

  def quote(text: String): String = {
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
