package org.apache.spark.sql.headrace.decode.registry

import java.io.IOException
import java.net.URI
import java.net.http.HttpResponse.BodyHandlers
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import java.util.Base64
import java.util.concurrent.{ConcurrentHashMap, ThreadLocalRandom}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.MissingNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/** The address of a registry, and the login; durations in seconds. */
final case class RegistryOptions(url: String, user: Option[String], password: Option[String], timeout: Double,
    retryTimeout: Double) {
  override def toString: String = url
}

object RegistryOptions {
  /** Reads the options of Python's `SchemaRegistry.kernel_options`. */
  def parse(json: JsonNode): RegistryOptions = {
    def text(name: String): Option[String] = Option(json.path(name).textValue)
    RegistryOptions(json.path("url").asText, text("user"), text("password"), json.path("timeout").asDouble,
      json.path("retry_timeout").asDouble)
  }
}

/** A schema with the schemas that it refers to, in the order in which they have to be parsed. */
final case class RegisteredSchema(kind: String, text: String, references: Seq[ReferencedSchema])

/** A schema that another one refers to by name: a full name in Avro, an imported file in Protobuf. */
final case class ReferencedSchema(name: String, text: String)

/** The registry does not answer, or refuses the request. The decoding expression adds the source. */
final class RegistryFailure(val reason: String, val hint: String) extends RuntimeException(reason)

/**
 * Reads schemas by id from a registry with Confluent's interface. The schema of an id never changes, so it is
 * requested once in each JVM. Retries while the registry is unavailable, as Python's connectors do.
 */
final class SchemaRegistry private (options: RegistryOptions) {
  import SchemaRegistry._

  private val schemas = new ConcurrentHashMap[Int, RegisteredSchema]

  /** The schema of an id; None if the registry has no such id. */
  def schema(id: Int): Option[RegisteredSchema] = Option(schemas.get(id)).orElse(synchronized {
    Option(schemas.get(id)).orElse {
      val requested = request(s"/schemas/ids/$id").map(resolve)
      requested.foreach(schemas.put(id, _))
      requested
    }
  })

  private def resolve(answer: JsonNode): RegisteredSchema =
    RegisteredSchema(if (answer.hasNonNull("schemaType")) answer.path("schemaType").asText else "AVRO",
      answer.path("schema").asText, references(answer, Set.empty))

  private def references(answer: JsonNode, above: Set[String]): Seq[ReferencedSchema] = answer
    .path("references").elements.asScala.toSeq.flatMap { reference =>
      val (name, subject) = (reference.path("name").asText, reference.path("subject").asText)
      val path = s"/subjects/${encode(subject)}/versions/${reference.path("version").asInt}"
      if (above(path)) Nil
      else {
        val referenced = request(path).getOrElse(throw new RegistryFailure(
            s"the schema registry at $options has no version ${reference.path("version")} of `$subject`, " +
              "which a schema refers to", "register it"))
        references(referenced, above + path) :+ ReferencedSchema(name, referenced.path("schema").asText)
      }
    }.distinct

  /** Returns the answer; None if the registry reports that the object does not exist. */
  private def request(path: String): Option[JsonNode] = {
    val answer = send(path)
    val body = parse(answer.body)
    answer.statusCode match {
      case 200 if body.isObject => Some(body)
      case 404 if NotFound(body.path("error_code").asInt) => None
      case 200 | 404 => throw new RegistryFailure(
          s"there is no schema registry at $options", "check the address and its path")
      case 401 => throw new RegistryFailure(
          s"the schema registry at $options refuses the login", "set `user` and `password`")
      case status => throw new RegistryFailure(
          s"the schema registry at $options answers $status: ${body.path("message").asText("no message")}",
          "")
    }
  }

  private def send(path: String): HttpResponse[String] = {
    val deadline = System.nanoTime + (options.retryTimeout * 1e9).toLong
    var backoff = FirstBackoff
    var answer = attempt(path)
    while (answer.fold(_ => true, it => isTemporary(it.statusCode)) &&
      System.nanoTime + backoff * 1000000 <= deadline) {
      Thread.sleep((backoff * ThreadLocalRandom.current.nextDouble(0.5, 1.0)).toLong)
      backoff = math.min(2 * backoff, MaxBackoff)
      answer = attempt(path)
    }
    answer.fold(
      error =>
        throw new RegistryFailure(s"no schema registry answers at $options: ${describe(error)}",
          "start it, or check the address; the next run resumes here"), identity)
  }

  private def attempt(path: String): Either[IOException, HttpResponse[String]] =
    try Right(client.send(requestOf(path), BodyHandlers.ofString(UTF_8)))
    catch { case error: IOException => Left(error) }

  private def requestOf(path: String): HttpRequest = {
    val builder = HttpRequest.newBuilder(URI.create(options.url + path))
      .timeout(Duration.ofMillis((options.timeout * 1000).toLong))
      .header("Accept", "application/vnd.schemaregistry.v1+json, application/json")
    if (options.user.isDefined || options.password.isDefined) {
      val login = s"${options.user.getOrElse("")}:${options.password.getOrElse("")}"
      builder.header("Authorization", s"Basic ${Base64.getEncoder.encodeToString(login.getBytes(UTF_8))}")
    }
    builder.build()
  }
}

object SchemaRegistry {
  private val NotFound = Set(40401, 40402, 40403)
  private val FirstBackoff = 250L
  private val MaxBackoff = 5000L
  private lazy val json = new ObjectMapper
  private lazy val client = HttpClient.newBuilder.followRedirects(HttpClient.Redirect.NORMAL)
    .connectTimeout(Duration.ofSeconds(10)).build()
  private val registries = new ConcurrentHashMap[RegistryOptions, SchemaRegistry]

  /** The client of a registry, shared by the tasks of this JVM. */
  def apply(options: RegistryOptions): SchemaRegistry = registries
    .computeIfAbsent(options, new SchemaRegistry(_))

  /** True if the same request may succeed later. */
  private def isTemporary(status: Int): Boolean = status == 408 || status == 425 || status == 429 ||
    (status >= 500 && status != 501)

  private def parse(body: String): JsonNode =
    try Option(json.readTree(body)).getOrElse(MissingNode.getInstance)
    catch { case NonFatal(_) => MissingNode.getInstance }

  private def describe(error: IOException): String = Option(error.getMessage)
    .getOrElse(error.getClass.getSimpleName)
  private def encode(name: String): String = java.net.URLEncoder.encode(name, UTF_8).replace("+", "%20")
}
