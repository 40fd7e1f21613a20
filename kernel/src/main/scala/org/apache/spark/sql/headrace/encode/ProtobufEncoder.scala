package org.apache.spark.sql.headrace.encode

import java.nio.ByteBuffer

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.headrace.decode.{FieldLayout, MessageLayout, ProtobufHeader, WireReader}
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

/** Encodes rows as Protobuf messages; fields in the order of their numbers, as Google's libraries do. */
final class ProtobufEncoder(schema: StructType, layout: MessageLayout,
    header: Array[Byte] = Array.emptyByteArray)
    extends RecordEncoder {
  private val message = new MessageEncoder(layout, schema, "")

  override def encode(row: InternalRow): Array[Byte] = {
    val out = new WireWriter
    out.append(header, header.length)
    message.write(row, out)
    out.toByteArray
  }
}

object ProtobufEncoder {
  /** @param options JSON with `layout`, the `id` of the schema, and the `index` of the message */
  def apply(schema: StructType, options: String): ProtobufEncoder = {
    val chosen = new ObjectMapper().readTree(options)
    val id = Option(chosen.path("id")).filter(_.isInt).map(_.asInt)
    val header = id.fold(Array.emptyByteArray)(headerOf(_, ProtobufHeader.parse(chosen.path("index"))))
    new ProtobufEncoder(schema, MessageLayout.parse(chosen.path("layout").toString), header)
  }

  private def headerOf(id: Int, index: Seq[Long]): Array[Byte] = {
    val out = new WireWriter
    out.append(ByteBuffer.allocate(5).put(0.toByte).putInt(id).array, 5)
    val parts = if (index == Seq(0L)) Nil else index
    (parts.length.toLong +: parts).foreach(part => out.writeVarint(part << 1))
    out.toByteArray
  }
}

/** Writes the columns of a struct as the fields of a message; null leaves a field unset. */
final class MessageEncoder(layout: MessageLayout, schema: StructType, path: String) {
  private val fields = layout.fields.filter(_.column >= 0).sortBy(_.number)
    .map(field => new FieldEncoder(field, schema(field.column).dataType, s"$path${field.name}")).toArray
  private val oneofs = fields.filter(_.layout.oneof.isDefined).groupBy(_.layout.oneof.get)
    .filter(_._2.length > 1)

  def write(row: InternalRow, out: WireWriter): Unit = {
    oneofs.foreach { case (name, members) => checkOneof(name, members, row) }
    var i = 0
    while (i < fields.length) {
      fields(i).write(row, out)
      i += 1
    }
  }

  private def checkOneof(name: String, members: Array[FieldEncoder], row: InternalRow): Unit = {
    val set = members.filterNot(member => row.isNullAt(member.layout.column))
    if (set.length > 1) {
      val names = set.map(member => s"`${member.layout.name}`").mkString(" and ")
      throw new EncodeFailure(s"$path$name", s"expected one value in the oneof, got $names")
    }
  }
}

final class FieldEncoder(val layout: FieldLayout, dataType: DataType, path: String) {
  private lazy val value = dataType match { // a map has none
    case ArrayType(element, _) => new ValueEncoder(layout, element, s"$path[]")
    case _ => new ValueEncoder(layout, dataType, path)
  }
  private val entry = (dataType, layout.message) match {
    case (MapType(key, item, _), Some(message)) => Array(new ValueEncoder(
          message.fields.head, key, s"$path{key}"), new ValueEncoder(message.fields(1), item, s"$path{}"))
    case _ => Array.empty[ValueEncoder]
  }

  def write(row: InternalRow, out: WireWriter): Unit =
    if (!row.isNullAt(layout.column)) layout.label match {
      case "packed" => writePacked(row.getArray(layout.column), out)
      case "repeated" => foreach(row.getArray(layout.column))(value.writeField(_, _, out))
      case "map" => writeMap(row.getMap(layout.column), out)
      case "implicit" if value.isDefault(row, layout.column) => ()
      case _ => value.writeField(row, layout.column, out)
    }
    else if (layout.label == "required") throw new EncodeFailure(path, "the field is required, got null")

  private def writePacked(array: ArrayData, out: WireWriter): Unit = if (array.numElements() > 0) {
    out.writeTag(layout.number, WireReader.Bytes)
    out.writeNested(nested => foreach(array)(value.writeValue(_, _, nested)))
  }

  private def writeMap(map: MapData, out: WireWriter): Unit = {
    val (keys, items) = (map.keyArray(), map.valueArray())
    (0 until map.numElements()).foreach { i =>
      if (items.isNullAt(i)) throw new EncodeFailure(path, "a map cannot hold null")
      out.writeTag(layout.number, WireReader.Bytes)
      out.writeNested { nested =>
        entry(0).writeField(keys, i, nested)
        entry(1).writeField(items, i, nested)
      }
    }
  }

  private def foreach(array: ArrayData)(write: (SpecializedGetters, Int) => Unit): Unit =
    (0 until array.numElements()).foreach { i =>
      if (array.isNullAt(i)) throw new EncodeFailure(path, "a repeated field cannot hold null")
      write(array, i)
    }
}
