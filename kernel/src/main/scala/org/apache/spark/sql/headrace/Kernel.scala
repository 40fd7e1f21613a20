package org.apache.spark.sql.headrace

import java.util.Properties

import org.apache.spark.SPARK_VERSION

/** Build information of this jar, which Python checks when a session starts. */
object Kernel {
  private lazy val build: Properties = {
    val properties = new Properties()
    val stream = getClass.getResourceAsStream("/META-INF/headrace-kernel.properties")
    if (stream != null)
      try properties.load(stream)
      finally stream.close()
    properties
  }

  /** Digest of the sources. */
  def digest: String = build.getProperty("digest", "")

  /** Spark version this jar was compiled for. */
  def builtFor: String = build.getProperty("spark", "")

  /** Spark version it runs in. */
  def runsOn: String = SPARK_VERSION
}
