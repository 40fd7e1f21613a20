package org.apache.spark.sql.headrace.compat

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper

import org.apache.spark.{SPARK_VERSION, SparkEnv}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.headrace.compat.kafka.KafkaFetch
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, UnsafeProjection}
import org.apache.spark.sql.headrace.operators.KeyEncoder
import org.apache.spark.sql.types.{IntegerType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A use of private parts of Spark or Kafka. Its self-test runs once per JVM. If it fails, the plain
 * implementation is used, or the session does not start if there is none.
 */
trait CompatCheck extends Logging {
  def name: String

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
    if (fallback.isDefined && Compat.isPlain) Some(s"${Compat.Plain} is set")
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

/** Self-tests of the kernel's dependencies on private parts. */
object Compat {
  /** Setting that selects the plain implementations. */
  val Plain = "spark.headrace.compat.plain"
  private val checks: Seq[CompatCheck] = Seq(KeyEncoding, DueStoreAccess, KafkaFetch)
  def isPlain: Boolean = Option(SparkEnv.get).exists(_.conf.getBoolean(Plain, defaultValue = false))

  /**
   * Runs all self-tests; called by Python when a session starts. Returns a JSON array of `name`, `target`,
   * `fallback` and `failure` (null: none).
   *
   * @throws IllegalStateException if a test without a plain implementation fails
   */
  def selfTest(): String = {
    val report = new ObjectMapper().createArrayNode()
    checks.filter(_.isPresent).foreach { check =>
      if (check.fallback.isEmpty) check.failure.foreach(reason =>
        throw new IllegalStateException(s"Spark $SPARK_VERSION is not supported: ${check.target}: $reason"))
      report.addObject().put("name", check.name).put("target", check.target)
        .put("fallback", check.fallback.orNull).put("failure", check.failure.orNull)
    }
    report.toString
  }
}

/** Keys as rows: Spark must accept an encoder of `InternalRow` and leave the bytes unchanged. */
object KeyEncoding extends CompatCheck {
  override val name = "keys"
  override val target: String = classOf[ExpressionEncoder[_]].getName
  override val fallback: Option[String] = None

  override protected def verify(): Unit = {
    val columns = Seq(AttributeReference("k", StringType)(), AttributeReference("n", IntegerType)())
    val key = UnsafeProjection.create(columns.map(_.dataType).toArray)
      .apply(InternalRow(UTF8String.fromString("key"), 7)).copy()
    require(KeyEncoder.encoder(columns).createSerializer().apply(key) == key, "keys are re-encoded")
  }
}
