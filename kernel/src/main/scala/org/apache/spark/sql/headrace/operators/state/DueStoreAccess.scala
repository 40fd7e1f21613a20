package org.apache.spark.sql.headrace.operators.state

import java.lang.reflect.Proxy
import java.util.UUID

import scala.collection.mutable

import org.apache.spark.sql.Encoders
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor._
import org.apache.spark.sql.execution.streaming.state.{RangeKeyScanStateEncoderSpec, StateStore}
import org.apache.spark.sql.headrace.compat.{CompatCheck, HandleInternals, SparkApi}
import org.apache.spark.sql.headrace.operators.KeyEncoder
import org.apache.spark.sql.streaming.{TimeMode, TTLConfig}
import org.apache.spark.sql.types.{IntegerType, LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Opens a [[DueStore]] in place of Spark's map state and timers. */
object DueStoreAccess extends CompatCheck with StateAccess {
  override val target: String = classOf[StatefulProcessorHandleImpl].getName
  override val fallback: Option[String] = Some("Spark's public state API")

  /** Declares Spark's map state, with the key layout of a [[DueStore]]. */
  override def declare(handle: DriverStatefulProcessorHandleImpl, layout: StateLayout): Unit = {
    PublicStateAccess.declare(handle, layout)
    val (schemas, key) = (handle.columnFamilySchemas, layout.keys.schema)
    val declared = schemas(layout.variable)
    schemas
      .put(layout.variable, declared.copy(keySchema = schema(key), keyStateEncoderSpec = Some(spec(key))))
  }

  override def open(handle: StatefulProcessorHandleImpl, time: TimeMode, layout: StateLayout): SlotStore = {
    val (store, key) = (HandleInternals.store(handle), layout.keys.schema)
    store.createColFamilyIfAbsent(layout.variable, schema(key), Encoders.BINARY.schema, spec(key))
    val slots = new DueStore(store, layout.variable, key.length)
    HandleInternals.replaceTimers(handle, time, layout.keys, slots)
    slots
  }

  /** Key columns of a slot: those of Spark's map state, which its state reader expects, and the due time. */
  private def schema(key: StructType): StructType = new StructType().add("key", key)
    .add("userKey", Encoders.scalaLong.schema).add("due", LongType, nullable = false)
  private def spec(key: StructType) = RangeKeyScanStateEncoderSpec(schema(key), Seq(2))

  /** Compares the rows that Spark's map state writes with the kernel's, and replaces timers. */
  override protected def verify(): Unit = {
    val columns = Seq(AttributeReference("k", StringType)(), AttributeReference("n", IntegerType)())
    val key = UnsafeProjection.create(columns.map(_.dataType).toArray)
      .apply(InternalRow(UTF8String.fromString("key"), 7)).copy()
    val (spark, keys, time) = (new RecordedWrites, KeyEncoder.encoder(columns), TimeMode.EventTime())
    val handle = new StatefulProcessorHandleImpl(spark.store, UUID.randomUUID(), keys, time)
    ImplicitGroupingKeyTracker.setImplicitKey(key)
    try handle.getMapState("slots", Encoders.scalaLong, Encoders.BINARY, TTLConfig.NONE)
        .updateValue(3L, Array[Byte](1, 2, 3))
    finally ImplicitGroupingKeyTracker.removeImplicitKey()
    val slot = new SlotRow(2)
    slot.bind(key)
    require(spark.rows.toSeq == Seq((slot.at(3L), new ValueRow().of(Array[Byte](1, 2, 3)))),
      "Spark writes map state in another layout")
    require(HandleInternals.store(handle) eq spark.store, "the handle has another state store")
    handle.setHandleState(StatefulProcessorHandleState.INITIALIZED)
    HandleInternals.replaceTimers(handle, time, keys, until => Iterator.single((key, until)))
    require(SparkApi.timersUntil(handle, 9L).toSeq == Seq((key, 9L)), "Spark ignores replaced timers")
  }
}

/** A state store that records writes. */
private final class RecordedWrites {
  val rows: mutable.ArrayBuffer[(UnsafeRow, UnsafeRow)] = mutable.ArrayBuffer.empty

  val store: StateStore = Proxy.newProxyInstance(
    getClass.getClassLoader, Array[Class[_]](classOf[StateStore]),
    (_, method, arguments) => {
      if (method.getName == "put") {
        val Array(key, value) = arguments.take(2).map(_.asInstanceOf[UnsafeRow].copy())
        rows += ((key, value))
      }
      if (method.getReturnType == classOf[Boolean]) java.lang.Boolean.FALSE else null
    }).asInstanceOf[StateStore]
}
