package org.apache.spark.sql.headrace.decode

import java.util.{ArrayList => JArrayList, HashMap => JHashMap, LinkedHashMap => JLinkedHashMap}

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.unsafe.types.UTF8String

/** Decodes one Protobuf message per record, by the numbers of its fields. */
final class ProtobufDecoder(layout: MessageLayout, rejectUnknown: Boolean, index: Option[Seq[Long]] = None)
    extends RecordDecoder {
  private val message = new MessageDecoder(layout, "", rejectUnknown)

  override def decode(bytes: Array[Byte], partition: UTF8String, position: Long): InternalRow = {
    val in = new WireReader(bytes)
    index.foreach(ProtobufHeader.skip(in, _, layout.name))
    val values = message.start()
    message.merge(in, values)
    message.finish(values).asInstanceOf[InternalRow]
  }
}

object ProtobufDecoder {
  /** @param options JSON with `layout`, `unknown_fields`, and, if records have a header, `index` */
  def apply(options: String): ProtobufDecoder = {
    val chosen = new ObjectMapper().readTree(options)
    val index = Option(chosen.path("index")).filter(_.isArray).map(ProtobufHeader.parse)
    new ProtobufDecoder(MessageLayout.parse(chosen.path("layout").toString),
      chosen.path("unknown_fields").asText == "error", index)
  }
}

/**
 * Reads a message into an array of values, one for each column. A message may come in parts, which are
 * merged: until `finish`, a message is an array, a repeated field a list and a map a map.
 */
final class MessageDecoder(layout: MessageLayout, path: String, rejectUnknown: Boolean) {
  private val fields = layout.fields.map(new FieldDecoder(_, path, rejectUnknown)).toArray
  private val byNumber = new JHashMap[Integer, FieldDecoder]
  fields.foreach(field => byNumber.put(field.layout.number, field))
  private val lowest = Array.tabulate(MessageDecoder.Dense)(byNumber.get(_))
  private val columns = fields.filter(_.layout.column >= 0)
  for (field <- fields; name <- field.layout.oneof) field.siblings = columns
    .filter(other => other != field && other.layout.oneof.contains(name)).map(_.layout.column)

  def start(): Array[Any] = new Array[Any](layout.width)

  /** Adds the fields of the message to values; false if an unknown value of an enum was dropped. */
  def merge(in: WireReader, values: Array[Any]): Boolean = {
    var complete = true
    while (in.hasMore) {
      val at = in.position
      val tag = in.readTag()
      val field = find(tag >>> 3)
      if (field != null) complete &= field.read(in, tag, at, values)
      else {
        if (rejectUnknown && (tag & 7) != WireReader.EndGroup) throw unknown(tag >>> 3, at)
        in.skip(tag)
      }
    }
    complete
  }

  /** Returns the values as that of a column: a row, a timestamp or the value of a wrapper. */
  def finish(values: Array[Any]): Any = {
    columns.foreach(field => values(field.layout.column) = field.finish(values(field.layout.column)))
    layout.form match {
      case "timestamp" => timestamp(values(0).asInstanceOf[Long], values(1).asInstanceOf[Int])
      case "duration" => duration(values(0).asInstanceOf[Long], values(1).asInstanceOf[Int])
      case "wrapper" => values(0)
      case _ => new GenericInternalRow(values)
    }
  }

  private def find(number: Int): FieldDecoder =
    if (number < MessageDecoder.Dense) lowest(number) else byNumber.get(number)

  private def unknown(number: Int, at: Int): DecodeError = {
    val where = if (path.isEmpty) "" else s"field `${path.stripSuffix(".")}`: "
    DecodeError.record(s"${where}the message ${layout.name} has no field $number, at byte $at")
  }

  private def timestamp(seconds: Long, nanos: Int): Long = {
    val inRange = seconds >= IsoTimestamp.MinMicros / 1000000 && seconds <= IsoTimestamp.MaxMicros / 1000000
    if (!inRange || nanos < 0 || nanos > MessageDecoder.MaxNanos)
      throw notA("timestamp from year 1 to 9999", seconds, nanos)
    seconds * 1000000 + nanos / 1000
  }

  private def duration(seconds: Long, nanos: Int): Long = {
    val sameSign = seconds == 0 || nanos == 0 || (seconds < 0) == (nanos < 0)
    val inRange = math.abs(nanos.toLong) <= MessageDecoder.MaxNanos &&
      seconds >= -MessageDecoder.MaxDuration && seconds <= MessageDecoder.MaxDuration
    if (!inRange || !sameSign) throw notA("duration of at most 10000 years", seconds, nanos)
    seconds * 1000000 + nanos / 1000
  }

  private def notA(kind: String, seconds: Long, nanos: Int): DecodeError = DecodeError
    .field(path.stripSuffix("."), s"expected a $kind, got $seconds seconds and $nanos nanoseconds")
}

object MessageDecoder {
  private val MaxNanos = 999999999
  private val MaxDuration = 315576000000L

  /** Fields with lower numbers are found in an array. */
  private val Dense = 64
}

final class FieldDecoder(val layout: FieldLayout, parent: String, rejectUnknown: Boolean) {
  private val path = s"$parent${layout.name}"
  private val inner = layout.message
    .map(new MessageDecoder(_, if (isPlain(layout)) s"$path." else s"$path[].", rejectUnknown)).orNull
  private val wire = WireReader.wireType(layout.kind)
  private val names = layout.enumeration.map(_.byNumber.map { case (n, name) =>
    (n: Integer) -> UTF8String.fromString(name)
  }).orNull
  private val readPlain = ProtobufScalars.reader(layout.kind)
  private val isClosed = layout.enumeration.exists(_.closed)
  private val default = ProtobufScalars.default(layout.kind, layout.enumeration)

  /** The columns of the other members of its oneof, which it unsets. */
  var siblings: Array[Int] = Array.emptyIntArray

  /** Reads a value; false if it is dropped because its enum does not have it. */
  def read(in: WireReader, tag: Int, at: Int, values: Array[Any]): Boolean = {
    val known = readValue(in, tag, at, values)
    if (known) siblings.foreach(values(_) = null)
    known
  }

  private def readValue(in: WireReader, tag: Int, at: Int, values: Array[Any]): Boolean = {
    val column = layout.column
    if (column < 0) {
      in.skip(tag)
      true
    } else if (layout.label == "map") readEntry(in, tag, at, values)
    else if (layout.isRepeated) readElements(in, tag, at, listOf(values))
    else if (inner != null) {
      expect(tag, at)
      val open = if (values(column) == null) inner.start() else values(column).asInstanceOf[Array[Any]]
      values(column) = open
      in.readNested(inner.merge(in, open))
      true
    } else {
      expect(tag, at)
      val value = readScalar(in, at)
      if (value != null) values(column) = value
      value != null
    }
  }

  /** Converts what `read` has collected to the value of the column. */
  def finish(collected: Any): Any = {
    val value = layout.label match {
      case "repeated" | "packed" => new GenericArrayData(if (collected == null) Array.empty[Any]
          else collected.asInstanceOf[JArrayList[Any]].toArray.asInstanceOf[Array[Any]])
      case "map" => toMap(collected.asInstanceOf[JLinkedHashMap[Any, Any]])
      case "implicit" if collected == null => if (inner == null) default else inner.finish(inner.start())
      case _ if inner != null && collected != null => inner.finish(collected.asInstanceOf[Array[Any]])
      case _ => collected
    }
    if (value == null && layout.notNull)
      throw DecodeError.field(path, "a value is required, but the record has none")
    value
  }

  private def listOf(values: Array[Any]): JArrayList[Any] = {
    if (values(layout.column) == null) values(layout.column) = new JArrayList[Any]
    values(layout.column).asInstanceOf[JArrayList[Any]]
  }

  /** Reads an element, or the elements of a packed field: both forms are valid for every repeated scalar. */
  private def readElements(in: WireReader, tag: Int, at: Int, list: JArrayList[Any]): Boolean =
    if (inner != null) {
      expect(tag, at)
      val element = inner.start()
      in.readNested(inner.merge(in, element))
      list.add(inner.finish(element))
    } else if ((tag & 7) == WireReader.Bytes && wire != WireReader.Bytes) {
      var complete = true
      in.readNested(while (in.hasMore) complete &= addScalar(in, at, list))
      complete
    } else {
      expect(tag, at)
      addScalar(in, at, list)
    }

  private def addScalar(in: WireReader, at: Int, list: JArrayList[Any]): Boolean = {
    val value = readScalar(in, at)
    value != null && list.add(value)
  }

  private def readEntry(in: WireReader, tag: Int, at: Int, values: Array[Any]): Boolean = {
    expect(tag, at)
    if (values(layout.column) == null) values(layout.column) = new JLinkedHashMap[Any, Any]
    val entry = inner.start()
    var complete = true
    in.readNested { complete = inner.merge(in, entry) }
    inner.finish(entry)
    if (complete) values(layout.column).asInstanceOf[JLinkedHashMap[Any, Any]].put(entry(0), entry(1))
    complete
  }

  private def toMap(entries: JLinkedHashMap[Any, Any]): ArrayBasedMapData =
    if (entries == null) ArrayBasedMapData(Array.empty[Any], Array.empty[Any])
    else ArrayBasedMapData(
      entries.keySet.toArray.asInstanceOf[Array[Any]], entries.values.toArray.asInstanceOf[Array[Any]])

  private def expect(tag: Int, at: Int): Unit = if ((tag & 7) != wire)
    throw DecodeError.mismatch(path, s"${layout.kind} (wire type $wire)", s"wire type ${tag & 7}", at)

  private def readScalar(in: WireReader, at: Int): Any =
    if (names != null) readEnum(in.readVarint().toInt, at)
    else {
      val value = readPlain(in)
      if (value == null) throw DecodeError.mismatch(path, "UTF-8 text", "other bytes", at)
      value
    }

  private def readEnum(number: Int, at: Int): UTF8String = names.get(number) match {
    case Some(name) => name
    case None if !isClosed => UTF8String.fromString(number.toString)
    case None if rejectUnknown => throw DecodeError.mismatch(path, "a value of the enum", number.toString, at)
    case None => null
  }

  private def isPlain(field: FieldLayout): Boolean = !field.isRepeated && field.label != "map"
}
