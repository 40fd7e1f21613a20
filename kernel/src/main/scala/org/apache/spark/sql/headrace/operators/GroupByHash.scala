package org.apache.spark.sql.headrace.operators

import scala.collection.mutable

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.{Distribution, Partitioning}
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.classic.{SparkSession, Strategy}
import org.apache.spark.sql.execution.UnsafeExternalRowSorter.PrefixComputer
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorPartitioning
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode, UnsafeExternalRowSorter}
import org.apache.spark.sql.types.{DoubleType, FloatType}
import org.apache.spark.util.collection.unsafe.sort.{PrefixComparators, RecordComparator}
import org.apache.spark.{SparkEnv, TaskContext}

/**
 * Rows of a key next to each other, for an operator that is given one key after the other.
 *
 * Spark sorts by the key's columns for that, and comparing keys is half of the time of a step over text keys: what they
 * begin with is mostly the same, so that each comparison fetches two rows from memory. The order of keys is of no
 * use to anybody, so here rows are sorted by a hash, without looking at them again.
 */
case class GroupByHash(keys: Seq[Attribute], child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(next: LogicalPlan): GroupByHash = copy(child = next)
}

object GroupByHash {
  /** How many bits of the hash are looked at: with few of them different keys fall together, which tests want to see. */
  val Bits = "spark.headrace.groupByHash.bits"

  /** A plan with its rows brought together; where equal keys may differ in their bytes, it is left to Spark. */
  def over(session: SparkSession, keys: Seq[Attribute], child: LogicalPlan): LogicalPlan =
    if (!keys.forall(key => equalByBytes(key))) child
    else {
      OperatorPlan.addStrategy(session, Planned)
      GroupByHash(keys, child)
    }

  private def equalByBytes(key: Attribute): Boolean =
    UnsafeRowUtils.isBinaryStable(key.dataType) &&
      !key.dataType.existsRecursively(t => t == DoubleType || t == FloatType) // 0.0 and -0.0

  object Planned extends Strategy {
    override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
      case t: GroupByHash if OperatorPlan.isRealTime(t.child) => planLater(t.child) :: Nil
      case t: GroupByHash => GroupByHashExec(t.keys, planLater(t.child)) :: Nil
      case _ => Nil
    }
  }
}

/**
 * Stands above the exchange that the stateful operator asks for, which therefore is asked for here; and says that rows
 * are in the keys' order, which that operator asks for when it means that equal keys come together.
 */
case class GroupByHashExec(keys: Seq[Attribute], child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = keys.map(SortOrder(_, Ascending))
  override def requiredChildDistribution: Seq[Distribution] =
    StatefulOperatorPartitioning.getCompatibleDistribution(keys, conf.numShufflePartitions, conf) :: Nil
  override protected def withNewChildInternal(next: SparkPlan): GroupByHashExec = copy(child = next)

  override protected def doExecute(): RDD[InternalRow] = {
    val (by, columns, fields) = (keys, output, schema)
    val mask = -1L >>> (64 - conf.getConfString(GroupByHash.Bits, "64").toInt)
    child.execute().mapPartitionsInternal { rows =>
      val hash = new KeyHash(by, columns, mask)
      val sorter = UnsafeExternalRowSorter.createWithRecordComparator(
        fields, () => EqualRecords, PrefixComparators.LONG, hash, SparkEnv.get.memoryManager.pageSizeBytes, true)
      val sorted = sorter.sort(rows.asInstanceOf[Iterator[UnsafeRow]])
      TaskContext.get().taskMetrics().incPeakExecutionMemory(sorter.getPeakMemoryUsage)
      new CollisionSplitter(sorted.asInstanceOf[Iterator[UnsafeRow]], UnsafeProjection.create(by, columns), hash)
    }
  }
}

/** The hash of a row's key. */
private final class KeyHash(keys: Seq[Attribute], columns: Seq[Attribute], mask: Long) extends PrefixComputer {
  private val hashed = UnsafeProjection.create(Seq(XxHash64(keys, 42L)), columns)
  private val prefix = new PrefixComputer.Prefix

  def of(row: InternalRow): Long = hashed(row).getLong(0) & mask

  override def computePrefix(row: InternalRow): PrefixComputer.Prefix = {
    prefix.value = of(row)
    prefix
  }
}

/** Among rows of one hash any order will do: `CollisionSplitter` sees to those of different keys. */
private object EqualRecords extends RecordComparator {
  override def compare(a: Object, aAt: Long, aSize: Int, b: Object, bAt: Long, bSize: Int): Int = 0
}

/** Rows that come by hash, with different keys of one hash told apart. */
private final class CollisionSplitter(rows: Iterator[UnsafeRow], keyOf: UnsafeProjection, hash: KeyHash) extends Iterator[InternalRow] {
  private var key: UnsafeRow = _
  private var keyHash = 0L
  /** A row that was looked at and not given out. */
  private var ahead: UnsafeRow = _
  /** Rows of other keys with the hash of the last one. */
  private var others: Iterator[UnsafeRow] = Iterator.empty

  override def hasNext: Boolean = others.hasNext || ahead != null || rows.hasNext

  override def next(): InternalRow =
    if (others.hasNext) others.next()
    else {
      val row = if (ahead != null) ahead else rows.next()
      ahead = null
      val next = keyOf(row)
      if (next == key) row
      else {
        val hashed = hash.of(row)
        if (key != null && hashed == keyHash) sortedOut(row)
        else {
          key = next.copy()
          keyHash = hashed
          row
        }
      }
    }

  /** All rows of a hash from one with a new key on: first those of the key before, then the others, key by key. */
  private def sortedOut(first: UnsafeRow): InternalRow = {
    val byKey = mutable.LinkedHashMap(key -> mutable.ArrayBuffer.empty[UnsafeRow])
    var row = first.copy()
    while (row != null && hash.of(row) == keyHash) {
      byKey.getOrElseUpdate(keyOf(row).copy(), mutable.ArrayBuffer.empty) += row
      row = if (rows.hasNext) rows.next().copy() else null
    }
    ahead = row
    key = null
    others = byKey.valuesIterator.flatten
    others.next()
  }
}
