package org.apache.spark.sql.headrace.operators.state

import org.apache.spark.sql.{Dataset, Row}
import org.apache.spark.sql.Encoders
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider
import org.apache.spark.sql.functions._
import org.apache.spark.sql.headrace.compat.CompatCheck
import org.apache.spark.sql.headrace.operators.Counts
import org.apache.spark.sql.headrace.operators.keyed.KeyedOperator
import org.apache.spark.sql.headrace.patterns.MatchStep
import org.apache.spark.sql.headrace.windows.WindowStep

/** Runs streaming queries with direct and with public access to state. */
class StateAccessSuite extends munit.FunSuite {
  override val munitTimeout: scala.concurrent.duration.Duration = scala.concurrent.duration.Duration(3, "min")

  private val windows = """{"window": {"kind": "tumbling", "size": 10000000}, "mode": "accumulating",
    |"trigger": {"after_watermark": {}}}""".stripMargin
  private val pattern = """{"steps": ["a", "b"], "conditions": ["v % 2 = 1", "v % 2 = 0"], "keys": ["k"],
    |"elements": [{"step": 0, "where": 0, "contiguity": "first"},
    |{"step": 1, "where": 1, "contiguity": "followed_by"}], "within": 30000000,
    |"skip": {"kind": "past_last"}, "select": [["a", "a.v"], ["b", "b.v"]]}""".stripMargin

  private def session(plain: Boolean): SparkSession = SparkSession.builder().master("local[1]")
    .config(CompatCheck.Plain, plain).config("spark.ui.enabled", false)
    .config("spark.sql.shuffle.partitions", 1).config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.streaming.stateStore.providerClass", classOf[RocksDBStateStoreProvider].getName)
    .getOrCreate().asInstanceOf[SparkSession]

  /** Feeds (key, seconds) in three batches and returns the main rows of the operator. */
  private def run(spark: SparkSession, name: String)(operator: Dataset[Row] => Dataset[Row]): Set[String] = {
    val input = MemoryStream(Encoders.tuple(Encoders.STRING, Encoders.scalaLong), spark)
    val frame = input.toDF().toDF("k", "v").withColumn("__ts", timestamp_seconds(col("v")))
      .withWatermark("__ts", "0 seconds")
    val query = operator(frame).select("__main.*").where("k is not null").writeStream.format("memory")
      .queryName(name).outputMode("append").start()
    try Seq(Seq("x" -> 1L, "y" -> 2L, "x" -> 4L), Seq("x" -> 15L, "y" -> 12L), Seq("x" -> 40L))
        .foreach { rows =>
          input.addData(rows)
          query.processAllAvailable()
        }
    finally query.stop()
    spark.table(name).drop("pane", "__ts").collect().map(_.toString).toSet
  }

  private def results(plain: Boolean): (Set[String], Set[String]) = {
    SparkSession.getDefaultSession.foreach(_.stop()) // the setting is read from the Spark context
    val spark = session(plain)
    try (run(spark, "windows") { frame =>
          val grouped = frame.groupBy("k").agg(count(lit(1)).as("n"))
          KeyedOperator(frame, WindowStep(frame, grouped, windows), Counts.create(spark.sparkContext))
        },
        run(spark, "matches") { frame =>
          KeyedOperator(frame, MatchStep(frame, pattern), Counts.create(spark.sparkContext))
        })
    finally spark.stop()
  }

  test("direct and public access give the same rows") {
    val (direct, matches) = results(plain = false)
    assertEquals(direct.map(_.split(',').last), Set("2]", "1]"))
    assertEquals(direct.size, 4)
    assertEquals(matches, Set("[x,1,4]"))
    assertEquals(results(plain = true), (direct, matches))
  }
}
