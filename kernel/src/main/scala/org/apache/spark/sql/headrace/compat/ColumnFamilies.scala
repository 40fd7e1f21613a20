package org.apache.spark.sql.headrace.compat

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateUtils
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming.TimeMode
import org.apache.spark.sql.types.{LongType, NullType, StructType}

/**
 * Places in the state of a task: Spark calls them column families.
 *
 * Spark makes the encoders of each anew in every task, only to find that the state has some already. Making them means
 * generating code, which for a few families takes a tenth of a second, and in real time rows wait for it at the start of
 * each batch.
 */
object ColumnFamilies {
  /** The place of a map variable, as Spark's own makes it, with values of bytes and whole numbers to find them by. */
  def map(store: StateStore, name: String, key: StructType): Unit = {
    val schema = new StructType().add("key", key).add("userKey", Encoders.scalaLong.schema)
    ensure(store, name, schema, Encoders.BINARY.schema, PrefixKeyScanStateEncoderSpec(schema, 1))
  }

  /** The places of Spark's timers. */
  def timers(store: StateStore, time: TimeMode, key: StructType): Unit = {
    val (byKey, byTime) = TimerStateUtils.getTimerStateVarNames(time.toString)
    val nothing = new StructType().add("__dummy__", NullType)
    val keyed = new StructType().add("key", key).add("expiryTimestampMs", LongType, nullable = false)
    val timed = new StructType().add("expiryTimestampMs", LongType, nullable = false).add("key", key)
    ensure(store, byKey, keyed, nothing, PrefixKeyScanStateEncoderSpec(keyed, 1), isInternal = true)
    ensure(store, byTime, timed, nothing, RangeKeyScanStateEncoderSpec(timed, Seq(0)), isInternal = true)
  }

  /** Sees to it that a place is there. */
  def ensure(
      store: StateStore, name: String, key: StructType, value: StructType, spec: KeyStateEncoderSpec,
      isInternal: Boolean = false): Unit =
    if (!isThere(store, name, isInternal)) store.createColFamilyIfAbsent(name, key, value, spec, isInternal = isInternal)

  /** Whether the state has the place, and encoders for it; an earlier version of the state may have been loaded since. */
  private def isThere(store: StateStore, name: String, isInternal: Boolean): Boolean = store match {
    case rocks: RocksDBStateStoreProvider#RocksDBStateStore =>
      val provider = outer.get(rocks).asInstanceOf[RocksDBStateStoreProvider]
      encoders.get(provider).asInstanceOf[ConcurrentHashMap[String, (Any, Any, Any)]].get(name) match {
        case null => false
        case (_, _, id) => provider.rocksDB.createColFamilyIfAbsent(name, isInternal) == id
      }
    case _ => false
  }

  private lazy val outer = HandleInternals.field(classOf[RocksDBStateStoreProvider#RocksDBStateStore], classOf[RocksDBStateStoreProvider])
  private lazy val encoders = HandleInternals.field(classOf[RocksDBStateStoreProvider], classOf[ConcurrentHashMap[_, _]])
}
