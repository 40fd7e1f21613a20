package org.apache.spark.sql.headrace

import java.util.Properties

import org.apache.spark.SPARK_VERSION

/**
 * What this jar is and which Spark it was compiled for. Python asks at the start of a session, so that a jar
 * that is old, or made for another Spark, is found before a query fails in the middle of a run.
 */
object Kernel {
  private lazy val build: Properties = {
    val properties = new Properties()
    val stream = getClass.getResourceAsStream("/META-INF/headrace-kernel.properties")
    if (stream != null) try properties.load(stream) finally stream.close()
    properties
  }

  /** Digest of the sources this jar was compiled from. */
  def digest: String = build.getProperty("digest", "")

  /** The Spark version this jar was compiled for. */
  def builtFor: String = build.getProperty("spark", "")

  /** The Spark version it runs in. */
  def runsOn: String = SPARK_VERSION
}
