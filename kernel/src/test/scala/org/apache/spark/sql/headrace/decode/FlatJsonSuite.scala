package org.apache.spark.sql.headrace.decode

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

class FlatJsonSuite extends munit.FunSuite {
  private val schema = StructType.fromDDL("name string, n int, id bigint, x double, at timestamp, ok boolean")
  private val options = DecodeOptions()
  private val decoder = new JsonDecoder(schema, options)

  private def flat(text: String, columns: StructType = schema): InternalRow = FlatJson(columns, options).get
    .read(text.getBytes(UTF_8))

  /** The row as text, or what is wrong with the record. */
  private def outcome(decoded: => InternalRow): String =
    try decoded.toSeq(schema).map(String.valueOf(_: Any)).mkString(", ")
    catch { case e: DecodeError => s"${e.field}: ${e.reason}" }

  private val plain = Seq(
    """{"name":"a","n":1,"id":123456789012345678,"x":0.25,"at":"2026-01-01T00:00:00.123Z","ok":true}""",
    """ { "x" : -1.5 , "more" : "text" , "n" : -7 , "name" : "kääk 語 with more than eight bytes" } """,
    """{"at":"2026-02-28 23:59:59","ok":false,"name":"","id":-1,"x":3,"n":0,"other":12.5,"last":null}""",
    """{"name":null,"n":null,"at":-12345,"name":"second","no":true,"yes":false}""", "{}")

  test("plain records are read without Jackson, with the same rows") {
    for (text <- plain) {
      val row = flat(text)
      assert(row != null, text)
      assertEquals(outcome(row), outcome(decoder.parse(text.getBytes(UTF_8))), text)
    }
  }

  test("unusual records are left to Jackson") {
    Seq(
      "", "[1]", """{"name":"a\n"}""", """{"name":1}""", """{"n":1.0}""", """{"n":01}""", """{"n":1e3}""",
      """{"n":2147483648}""", """{"id":1234567890123456789}""", """{"x":-0.0}""", """{"x":.5}""",
      """{"x":"NaN"}""", """{"x":9007199254740993}""", """{"at":"2026-01-01"}""", """{"at":true}""",
      """{"ok":"true"}""", """{"ok":truth}""", """{"a":{}}""", """{"a":[]}""", """{'n':1}""", """{"n":1,}""",
      """{"n":1} x""", "{\"n\":1}\u0000", """{"n":1""", """{"n" 1}""", """{"name":"a}""", "{\"name\":\"\t\"}",
      s"""{"${"n" * 50001}":1}""").foreach(text => assertEquals(flat(text), null, text))
    assertEquals(flat("""{"n":null}""", StructType.fromDDL("n int not null")), null)
  }

  test("columns that are nested or have a format of their own are left to Jackson") {
    def reads(ddl: String, chosen: DecodeOptions) = FlatJson(StructType.fromDDL(ddl), chosen).isDefined
    assert(!reads("a array<int>", options))
    assert(!reads("at timestamp", DecodeOptions(timestampFormat = Some("yyyy"))))
    assert(!reads("n int", DecodeOptions(rejectUnknown = true)))
    assert(reads("n int", DecodeOptions(timestampFormat = Some("yyyy"))))
  }

  test("records with random changes have the outcome that Jackson gives") {
    val random = new Random(7)
    val pieces = "{}[]:,\"'\\ \t\n.-+0123456789eEntfals\u0000é" + "\u20ac"
    for (_ <- 0 until 40000) {
      val text = new StringBuilder(plain(random.nextInt(plain.size)))
      for (_ <- 0 to random.nextInt(3)) {
        val (at, piece) = (random.nextInt(text.length + 1), pieces.charAt(random.nextInt(pieces.length)))
        random.nextInt(3) match {
          case 0 => text.insert(at, piece)
          case 1 if at < text.length => text.setCharAt(at, piece)
          case _ if at < text.length => text.deleteCharAt(at)
          case _ =>
        }
      }
      val bytes = text.toString.getBytes(UTF_8)
      if (bytes.nonEmpty && random.nextInt(4) == 0)
        bytes(random.nextInt(bytes.length)) = random.nextInt().toByte
      assertEquals(outcome(decoder.decode(bytes, null, 1)), outcome(decoder.parse(bytes)), text.toString)
    }
  }
}
