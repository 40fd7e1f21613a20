package org.apache.spark.sql.headrace.decode

import org.json4s.jackson.JsonMethods
import org.json4s.{DefaultFormats, Formats}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Turns the bytes of one record into a row of the schema. One instance serves one task, on one thread. */
trait RecordDecoder {

  /**
   * The row; null for a record that is no row (the header line of a file).
   *
   * @param partition the part of the source the record is in; null if the source has none
   * @param position the record's place in the partition; negative if the source has none
   * @throws DecodeError when the record doesn't decode
   */
  def decode(bytes: Array[Byte], partition: UTF8String, position: Long): InternalRow

  /** A new partition of the data starts: forget what was learnt from the last. */
  def restart(): Unit = ()
}

object RecordDecoder {

  /** The decoder of a format, by the name and options that Python's option models hold. */
  def apply(format: String, schema: StructType, options: DecodeOptions): RecordDecoder = format match {
    case "json" => new JsonDecoder(schema, options)
    case "csv" => new CsvDecoder(schema, options)
    case "text" => TextDecoder
    case "raw" => RawDecoder
    case other => throw new IllegalArgumentException(s"there is no decoder for the format `$other`")
  }
}

/** The options of all formats; each decoder looks at its own. The defaults are those of Python's models. */
final case class DecodeOptions(
    timestampFormat: Option[String] = None,
    dateFormat: Option[String] = None,
    epoch: String = "seconds",
    rejectUnknown: Boolean = false,
    delimiter: Char = ',',
    quote: Char = '"',
    escape: Char = '"',
    header: Boolean = false,
    nullText: String = "")

object DecodeOptions {
  private implicit val formats: Formats = DefaultFormats

  def parse(json: String): DecodeOptions = {
    val chosen = JsonMethods.parse(json)
    def text(name: String): Option[String] = (chosen \ name).extractOpt[String]
    def char(name: String): Char = text(name).filter(_.nonEmpty).map(_.charAt(0)).getOrElse('"')
    DecodeOptions(
      timestampFormat = text("timestamp_format"),
      dateFormat = text("date_format"),
      epoch = text("epoch").getOrElse("seconds"),
      rejectUnknown = text("unknown_fields").contains("error"),
      delimiter = text("delimiter").map(_.charAt(0)).getOrElse(','),
      quote = char("quote"),
      escape = char("escape"),
      header = (chosen \ "header").extractOpt[Boolean].getOrElse(false),
      nullText = text("null_text").getOrElse(""))
  }
}
