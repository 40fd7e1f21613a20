package org.apache.spark.sql.headrace.compat

import scala.util.control.NonFatal

import org.apache.spark.{SPARK_VERSION, SparkEnv}
import org.apache.spark.internal.Logging

/**
 * A use of private parts of Spark or Kafka. Its self-test runs once per JVM. If it fails, the plain
 * implementation is used, or the session does not start if there is none.
 */
trait CompatCheck extends Logging {
  /** The class whose private parts are used. */
  def target: String

  /** Describes the plain implementation; None if there is none with the same results. */
  def fallback: Option[String]

  /** False if `target` is not on the class path. */
  def isPresent: Boolean = true

  /** Throws if `target` is not as expected. */
  protected def verify(): Unit

  /** The reason not to use `target`. */
  lazy val failure: Option[String] =
    if (fallback.isDefined && CompatCheck.isPlain) Some(s"${CompatCheck.Plain} is set")
    else
      try {
        verify()
        None
      } catch {
        case e @ (NonFatal(_) | _: LinkageError) =>
          fallback.foreach(plain =>
            logWarning(s"$target is not as expected in Spark $SPARK_VERSION; using $plain", e))
          Some(e.toString)
      }

  final def isUsable: Boolean = failure.isEmpty
}

object CompatCheck {
  /** Setting that selects the plain implementations. */
  val Plain = "spark.headrace.compat.plain"
  def isPlain: Boolean = Option(SparkEnv.get).exists(_.conf.getBoolean(Plain, defaultValue = false))
}
