package org.apache.spark.sql.headrace.analytics

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

/** Reads detectors as declared by Python: `{"kind": "quantile", "at": [0], "q": 0.999, ...}`. */
object DetectorSpec {
  def read(node: JsonNode): Detector = {
    def number(name: String): Double = node.get(name).asDouble
    def whole(name: String): Int = node.get(name).asInt
    def limit(name: String, without: Double): Double =
      if (node.hasNonNull(name)) node.get(name).asDouble else without
    def word(name: String): String = node.get(name).asText
    val at = node.get("at").elements.asScala.map(_.asInt).toArray
    val detector: Detector = node.get("kind").asText match {
      case "threshold" => new Threshold(limit("low", Double.NegativeInfinity),
          limit("high", Double.PositiveInfinity), number("hysteresis"), node.get("duration").asLong)
      case "rate_of_change" => new RateOfChange(number("limit"), node.get("per").asLong)
      case "missing" => new Missing(node.get("duration").asLong)
      case "z_score" => new ZScore(number("limit"), node.path("rows").asInt)
      case "ewma" => new Ewma(number("alpha"), number("limit"))
      case "windowed_gaussian" => new WindowedGaussian(whole("rows"), whole("step"), number("limit"))
      case "quantile" => new Quantile(number("q"), word("side"))
      case "mad" => new Mad(whole("rows"), number("limit"))
      case "seasonal" => new Seasonal(
          if (word("per") == "week") 168 else 24, number("alpha"), number("limit"), whole("min_rows"))
      case "page_hinkley" => new PageHinkley(number("tolerance"), number("limit"))
      case "adwin" => new Adwin(number("delta"))
      case "half_space_trees" => new HalfSpaceTrees(
          at.length, whole("trees"), whole("height"), whole("rows"), number("limit"), node.get("seed").asLong)
      case "multi_scale" => new MultiScale(node.get("scales").elements.asScala.map(_.asInt).toArray,
          number("memory"), whole("rest"), number("limit"))
      case "ensemble" =>
        new Ensemble(node.get("detectors").elements.asScala.map(read).toArray, word("combine"))
      case other => throw new IllegalArgumentException(s"unknown detector $other")
    }
    if (node.get("kind").asText == "ensemble") detector else new ObservedValues(at, detector)
  }
}
