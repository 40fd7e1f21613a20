package org.apache.spark.sql.headrace.time

import java.io.StringWriter
import java.util.Base64

import com.fasterxml.jackson.core.{JsonFactory, JsonGenerator}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Cast, Literal, SpecializedGetters}
import org.apache.spark.sql.catalyst.util.{ArrayData, DateTimeUtils}
import org.apache.spark.sql.classic.ClassicConversions.castToImpl
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.types._

/**
 * Converts a frame to lossless JSON for tests: timestamps and day-time intervals as microseconds, decimals
 * and floating-point numbers as text, binary as base64, maps as arrays of pairs, structs as arrays. The
 * schema is included.
 */
object RowJson {
  /** Returns `{"schema": ..., "rows": [...]}`; runs the frame's job. */
  def collect(frame: DataFrame): String = {
    val execution = castToImpl(frame).queryExecution
    val rows = SQLExecution.withNewExecutionId(execution)(execution.executedPlan.executeCollect())
    val text = new StringWriter()
    val json = factory.createGenerator(text)
    json.writeStartObject()
    json.writeFieldName("schema")
    json.writeRawValue(frame.schema.json)
    json.writeArrayFieldStart("rows")
    rows.foreach(struct(json, _, frame.schema))
    json.writeEndArray()
    json.writeEndObject()
    json.close()
    text.toString
  }

  private val factory = new JsonFactory()

  private def struct(json: JsonGenerator, row: InternalRow, schema: StructType): Unit = {
    json.writeStartArray()
    schema.fields.indices.foreach(at => value(json, row, at, schema(at).dataType))
    json.writeEndArray()
  }

  private def value(json: JsonGenerator, row: SpecializedGetters, at: Int, kind: DataType): Unit =
    if (row.isNullAt(at)) json.writeNull()
    else kind match {
      case BooleanType => json.writeBoolean(row.getBoolean(at))
      case ByteType => json.writeNumber(row.getByte(at).toInt)
      case ShortType => json.writeNumber(row.getShort(at).toInt)
      case IntegerType => json.writeNumber(row.getInt(at))
      case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType => json
          .writeNumber(row.getLong(at))
      case FloatType => json.writeString(row.getFloat(at).toString)
      case DoubleType => json.writeString(row.getDouble(at).toString)
      case d: DecimalType => json
          .writeString(row.getDecimal(at, d.precision, d.scale).toJavaBigDecimal.toPlainString)
      case DateType => json.writeString(DateTimeUtils.daysToLocalDate(row.getInt(at)).toString)
      case BinaryType => json.writeString(Base64.getEncoder.encodeToString(row.getBinary(at)))
      case inner: StructType => struct(json, row.getStruct(at, inner.length), inner)
      case ArrayType(element, _) => array(json, row.getArray(at), element)
      case MapType(key, content, _) =>
        val map = row.getMap(at)
        json.writeStartArray()
        (0 until map.numElements()).foreach { entry =>
          json.writeStartArray()
          value(json, map.keyArray(), entry, key)
          value(json, map.valueArray(), entry, content)
          json.writeEndArray()
        }
        json.writeEndArray()
      case other => json
          .writeString(Cast(Literal(row.get(at, other), other), StringType, Some("UTC")).eval().toString)
    }

  private def array(json: JsonGenerator, values: ArrayData, kind: DataType): Unit = {
    json.writeStartArray()
    (0 until values.numElements()).foreach(value(json, values, _, kind))
    json.writeEndArray()
  }
}
