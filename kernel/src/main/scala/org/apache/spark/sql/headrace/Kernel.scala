package org.apache.spark.sql.headrace

import java.util.Properties

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.headrace.compat.CompatCheck
import org.apache.spark.sql.headrace.compat.kafka.KafkaFetch
import org.apache.spark.sql.headrace.operators.KeyEncoding
import org.apache.spark.sql.headrace.operators.state.DueStoreAccess

/** Build information and self-tests of this jar, which Python reads and runs when a session starts. */
object Kernel {
  private lazy val build: Properties = {
    val properties = new Properties()
    val stream = getClass.getResourceAsStream("/META-INF/headrace-kernel.properties")
    if (stream != null)
      try properties.load(stream)
      finally stream.close()
    properties
  }

  def digest: String = build.getProperty("digest", "")

  /** Spark version this jar was compiled for. */
  def builtFor: String = build.getProperty("spark", "")

  def runsOn: String = SPARK_VERSION

  /**
   * Tests the private parts of Spark and Kafka that the kernel uses; logs those that a plain implementation
   * replaces.
   *
   * @throws IllegalStateException if a test without a plain implementation fails
   */
  def selfTest(): Unit = checks.filter(_.isPresent).foreach { check =>
    for (reason <- check.failure if check.fallback.isEmpty)
      throw new IllegalStateException(s"Spark $SPARK_VERSION is not supported: ${check.target}: $reason")
  }

  private def checks: Seq[CompatCheck] = Seq(KeyEncoding, DueStoreAccess, KafkaFetch)
}
