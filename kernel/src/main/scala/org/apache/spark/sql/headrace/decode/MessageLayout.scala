package org.apache.spark.sql.headrace.decode

import org.json4s.jackson.JsonMethods
import org.json4s.{DefaultFormats, Formats, JArray, JString, JValue}

/**
 * A Protobuf message and the columns of its fields, which Python derives from the descriptors.
 *
 * @param form the kind of value: `message`, `map` (an entry), `wrapper`, `timestamp` or `duration`
 * @param width the number of columns
 */
final case class MessageLayout(name: String, form: String, width: Int, fields: Seq[FieldLayout])

/**
 * One field of a message.
 *
 * @param column the ordinal of its column; negative for a member of a oneof that has none
 * @param kind the scalar type of the `.proto` file, `enum` or `message`
 * @param label `implicit` (no presence), `optional`, `required`, `repeated`, `packed` or `map`
 * @param notNull whether a record without it is a dead letter
 */
final case class FieldLayout(number: Int, name: String, column: Int, kind: String, label: String,
    notNull: Boolean, oneof: Option[String], enumeration: Option[EnumLayout],
    message: Option[MessageLayout]) {
  def isRepeated: Boolean = label == "repeated" || label == "packed"
}

/** The values of an enum, in the order of their declaration; closed ones (proto2) have no other values. */
final case class EnumLayout(names: Seq[(String, Int)], closed: Boolean) {
  /** The first name of each number. */
  lazy val byNumber: Map[Int, String] = names.reverseIterator.map(_.swap).toMap
  lazy val byName: Map[String, Int] = names.toMap
}

object MessageLayout {
  private implicit val formats: Formats = DefaultFormats

  def parse(json: String): MessageLayout = message(JsonMethods.parse(json))

  private def message(json: JValue): MessageLayout = {
    val JArray(fields) = json \ "fields"
    MessageLayout(text(json, "name"), text(json, "form"), (json \ "width").extract[Int], fields.map(field))
  }

  private def field(json: JValue): FieldLayout = FieldLayout(
    number = (json \ "number").extract[Int], name = text(json, "name"),
    column = (json \ "column").extractOpt[Int].getOrElse(-1), kind = text(json, "kind"),
    label = text(json, "label"), notNull = (json \ "not_null").extractOpt[Boolean].getOrElse(false),
    oneof = (json \ "oneof").extractOpt[String], enumeration = (json \ "enum").toOption.map(enumeration),
    message = (json \ "message").toOption.map(message))

  private def enumeration(json: JValue): EnumLayout = {
    val JArray(values) = json \ "names"
    val names = values.collect { case JArray(List(JString(name), number)) => name -> number.extract[Int] }
    EnumLayout(names, (json \ "closed").extract[Boolean])
  }

  private def text(json: JValue, name: String): String = (json \ name).extractOpt[String].getOrElse("")
}
