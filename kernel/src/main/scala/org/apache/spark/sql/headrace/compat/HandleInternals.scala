package org.apache.spark.sql.headrace.compat

import java.lang.reflect.{AccessibleObject, Field}

import scala.util.Try

import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateImpl
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.streaming.TimeMode

/** Reflective access to private members of Spark's `StatefulProcessorHandleImpl`, located by type. */
object HandleInternals {
  private lazy val storeField = field(classOf[StateStore])
  private lazy val timersField = field(classOf[TimerStateImpl])
  private lazy val timersGetter = accessible(classOf[StatefulProcessorHandleImpl].getDeclaredMethods
      .find(m => m.getReturnType == classOf[TimerStateImpl] && m.getParameterCount == 0)
      .getOrElse(missing(classOf[TimerStateImpl])))

  def store(handle: StatefulProcessorHandleImpl): StateStore = storeField.get(handle).asInstanceOf[StateStore]

  /** The state partition of a task; None if Spark's class has changed. */
  def partition(handle: StatefulProcessorHandleImpl): Option[Int] = Try(store(handle).id.partitionId).toOption

  /** Replaces Spark's timers, a lazy value that keeps what it is set to once it is created. */
  def replaceTimers(handle: StatefulProcessorHandleImpl, time: TimeMode, keys: ExpressionEncoder[Any],
      dueKeys: DueKeys): Unit = {
    timersGetter.invoke(handle)
    timersField.set(handle, new DueKeyTimers(store(handle), time, keys, dueKeys))
  }

  private def field(kind: Class[_]): Field = accessible(
    classOf[StatefulProcessorHandleImpl].getDeclaredFields.find(_.getType == kind).getOrElse(missing(kind)))

  private def accessible[A <: AccessibleObject](member: A): A = {
    member.setAccessible(true)
    member
  }

  private def missing(kind: Class[_]): Nothing =
    throw new NoSuchFieldException(s"StatefulProcessorHandleImpl has no member of type ${kind.getSimpleName}")
}

/** Keys that are due, in place of Spark's timers. */
trait DueKeys {
  /** Iterates keys and their times up to `until`. */
  def timersUntil(until: Long): Iterator[(Any, Long)]
}
