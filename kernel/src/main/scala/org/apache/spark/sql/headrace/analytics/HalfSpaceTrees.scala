package org.apache.spark.sql.headrace.analytics

import java.util.SplittableRandom

import com.esotericsoftware.kryo.io.{Input, Output}

/**
 * Half-space trees: random trees that halve the range of a feature at each node and count rows. A row is
 * unusual if it is in nodes with few rows of the last window.
 *
 * The ranges are those of the first window, which gives no verdict. The trees are the same for every key.
 */
final class HalfSpaceTrees(dimensions: Int, trees: Int, height: Int, window: Int, limit: Double, seed: Long)
    extends Detector {
  private val nodes = (1 << (height + 1)) - 1

  /** The feature and the split, from 0 to 1, of each inner node; children of node i are 2 i + 1 and 2 i + 2. */
  @transient private lazy val (features, splits) = {
    val random = new SplittableRandom(seed)
    val (features, splits) = (Array.ofDim[Int](trees, nodes), Array.ofDim[Double](trees, nodes))
    for (tree <- 0 until trees) {
      val (low, high) = (new Array[Double](dimensions), new Array[Double](dimensions))
      (0 until dimensions).foreach { d =>
        // A random work range that contains [0, 1], as in the original algorithm.
        val centre = random.nextDouble()
        val half = 2 * math.max(centre, 1 - centre)
        low(d) = centre - half
        high(d) = centre + half
      }
      def build(node: Int): Unit = if (2 * node + 2 < nodes) {
        val d = random.nextInt(dimensions)
        val (from, to) = (low(d), high(d))
        features(tree)(node) = d
        splits(tree)(node) = (from + to) / 2
        high(d) = splits(tree)(node)
        build(2 * node + 1)
        high(d) = to
        low(d) = splits(tree)(node)
        build(2 * node + 2)
        low(d) = from
      }
      build(0)
    }
    (features, splits)
  }

  override def create(): DetectorState = new DetectorState {
    private var rows = 0L
    private val low = Array.fill(dimensions)(Double.PositiveInfinity)
    private val high = Array.fill(dimensions)(Double.NegativeInfinity)

    /** Counts of the last full window, and of the present one. */
    private var reference, current = new Array[Int](trees * nodes)

    /** The rows of the first window, until their range is known. */
    private val first = new RecentValues(window * dimensions)

    override def judge(values: Array[Double], time: Long, into: Verdict): Unit =
      if (rows < window) into.score = 0
      else {
        val scaled = scale(values)
        var (tree, mass) = (0, 0.0)
        while (tree < trees) {
          mass += massOf(tree, scaled)
          tree += 1
        }
        into.score = 1 - mass / (trees.toDouble * window * (1 << height))
        if (into.score > limit) into
          .flag(s"few of the last $window rows are near ${values.map(Verdict.text).mkString(", ")}")
      }

    override def learn(values: Array[Double], time: Long): Unit = {
      rows += 1
      if (rows <= window) {
        values.indices.foreach { d =>
          first.add(values(d))
          low(d) = math.min(low(d), values(d))
          high(d) = math.max(high(d), values(d))
        }
        if (rows == window) {
          first.toArray.grouped(dimensions).foreach(row => count(scale(row)))
          first.clear()
          rotate()
        }
      } else {
        count(scale(values))
        if (rows % window == 0) rotate()
      }
    }

    /** The mass of the leaf, or of the first node with few rows, times two to the power of its depth. */
    private def massOf(tree: Int, scaled: Array[Double]): Double = {
      var (node, depth) = (0, 0)
      while (depth < height && reference(tree * nodes + node) >= window / 10) {
        node = child(tree, node, scaled)
        depth += 1
      }
      math.min(reference(tree * nodes + node), window).toDouble * (1 << depth)
    }

    private def count(scaled: Array[Double]): Unit = {
      var tree = 0
      while (tree < trees) {
        var (node, depth) = (0, 0)
        current(tree * nodes) += 1
        while (depth < height) {
          node = child(tree, node, scaled)
          current(tree * nodes + node) += 1
          depth += 1
        }
        tree += 1
      }
    }

    private def child(tree: Int, node: Int, scaled: Array[Double]): Int =
      if (scaled(features(tree)(node)) < splits(tree)(node)) 2 * node + 1 else 2 * node + 2

    private def scale(values: Array[Double]): Array[Double] = Array.tabulate(dimensions) { d =>
      if (high(d) > low(d)) (values(d) - low(d)) / (high(d) - low(d)) else values(d) - low(d) + 0.5
    }

    private def rotate(): Unit = {
      reference = current
      current = new Array[Int](trees * nodes)
    }

    override def write(out: Output): Unit = {
      out.writeVarLong(rows, true)
      low.foreach(out.writeDouble)
      high.foreach(out.writeDouble)
      first.write(out)
      if (rows >= window) {
        reference.foreach(out.writeVarInt(_, true))
        current.foreach(out.writeVarInt(_, true))
      }
    }

    override def read(in: Input): Unit = {
      rows = in.readVarLong(true)
      low.indices.foreach(d => low(d) = in.readDouble())
      high.indices.foreach(d => high(d) = in.readDouble())
      first.read(in)
      if (rows >= window) {
        reference.indices.foreach(i => reference(i) = in.readVarInt(true))
        current.indices.foreach(i => current(i) = in.readVarInt(true))
      }
    }
  }
}
