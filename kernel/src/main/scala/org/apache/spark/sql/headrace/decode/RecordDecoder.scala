package org.apache.spark.sql.headrace.decode

import org.json4s.jackson.JsonMethods
import org.json4s.{DefaultFormats, Formats}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Decodes one record to a row. One instance per task and thread. */
trait RecordDecoder {
  /**
   * Returns the row; null for a record without one (a file's header line).
   *
   * @param partition the source partition; null if there is none
   * @param position the position in the partition; negative if there is none
   * @throws DecodeError if the record cannot be decoded
   */
  def decode(bytes: Array[Byte], partition: UTF8String, position: Long): InternalRow

  /** Resets what was learnt from the previous partition. */
  def restart(): Unit = ()
}

object RecordDecoder {
  /**
   * Creates the decoder of a format.
   *
   * @param options the JSON of Python's `Format.kernel_options`
   */
  def apply(format: String, schema: StructType, options: String): RecordDecoder = format match {
    case "json" => new JsonDecoder(schema, DecodeOptions.parse(options))
    case "csv" => new CsvDecoder(schema, DecodeOptions.parse(options))
    case "avro" => new AvroDecoder(schema, AvroOptions.parse(options))
    case "protobuf" => ProtobufDecoder(options)
    case "text" => TextDecoder
    case "raw" => RawDecoder
    case other => throw new IllegalArgumentException(s"there is no decoder for the format `$other`")
  }
}

/** Options of JSON and CSV, with the defaults of Python's option models. */
final case class DecodeOptions(timestampFormat: Option[String] = None, dateFormat: Option[String] = None,
    epoch: String = "seconds", rejectUnknown: Boolean = false, delimiter: Char = ',', quote: Char = '"',
    escape: Char = '"', header: Boolean = false, nullText: String = "") {
  /** Microseconds per unit of a time that is a number. */
  def microsPerUnit: Long = epoch match {
    case "milliseconds" => 1000L
    case "microseconds" => 1L
    case _ => 1000000L
  }
}

object DecodeOptions {
  private implicit val formats: Formats = DefaultFormats

  def parse(json: String): DecodeOptions = {
    val chosen = JsonMethods.parse(json)
    def text(name: String): Option[String] = (chosen \ name).extractOpt[String]
    def char(name: String): Char = text(name).filter(_.nonEmpty).map(_.charAt(0)).getOrElse('"')
    DecodeOptions(
      timestampFormat = text("timestamp_format"), dateFormat = text("date_format"),
      epoch = text("epoch").getOrElse("seconds"), rejectUnknown = text("unknown_fields").contains("error"),
      delimiter = text("delimiter").map(_.charAt(0)).getOrElse(','), quote = char("quote"),
      escape = char("escape"), header = (chosen \ "header").extractOpt[Boolean].getOrElse(false),
      nullText = text("null_text").getOrElse(""))
  }
}
