package org.apache.spark.sql.headrace.compat

import java.lang.reflect.Field

import sun.reflect.ReflectionFactory

import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateImpl
import org.apache.spark.sql.execution.streaming.state.StateStore

/** What is inside the handle that Spark gives a processor. It has no door to it, so it is found by its type. */
object HandleInternals {
  private type Spark = StatefulProcessorHandleImpl
  private lazy val stores = field(classOf[Spark], classOf[StateStore])
  private lazy val timers = field(classOf[Spark], classOf[TimerStateImpl])
  /** Which of the handle's lazy values have been made, as bits. */
  private lazy val made = field(classOf[Spark], classOf[Byte])
  /** The bit of the timers; 0 until it is known. */
  @volatile private var bit = 0

  def store(handle: StatefulProcessorHandleImpl): StateStore = stores.get(handle).asInstanceOf[StateStore]

  /** Puts other timers in the place of Spark's, which aren't made but for the first time: that shows which bit says so. */
  def setTimers(handle: StatefulProcessorHandleImpl, visits: DueKeys): Unit = {
    val before = made.getByte(handle)
    if (bit == 0) {
      makeTimers(handle)
      bit = made.getByte(handle) ^ before
    } else made.setByte(handle, (before | bit).toByte)
    timers.set(handle, DueKeyTimers(visits))
  }

  /** Has Spark make its timers, and the place for them in the state, which else waits for the first one. */
  def makeTimers(handle: StatefulProcessorHandleImpl): Unit = {
    val maker = classOf[StatefulProcessorHandleImpl].getDeclaredMethods
      .find(m => m.getReturnType == classOf[TimerStateImpl] && m.getParameterCount == 0).get
    maker.setAccessible(true)
    maker.invoke(handle) // a lazy value: once made it stays what it is set to
  }

  def field(of: Class[_], kind: Class[_]): Field = {
    val found = of.getDeclaredFields.find(_.getType == kind).getOrElse(
      throw new IllegalStateException(s"this Spark's ${of.getSimpleName} holds no ${kind.getSimpleName}"))
    found.setAccessible(true)
    found
  }
}

/** Who is to be visited, and when. */
trait DueKeys {
  /** The keys whose time has come, and their times. */
  def expired(until: Long): Iterator[(Any, Long)]
}

/** Timers of our own, whose keys are found elsewhere. */
final class DueKeyTimers extends TimerStateImpl(null, null, null) {
  private var visits: DueKeys = _

  override def getExpiredTimers(until: Long, since: Option[Long]): Iterator[(Any, Long)] = visits.expired(until)
  override private[sql] def getExpiredTimersReusable(until: Long): Iterator[(Any, Long)] = visits.expired(until)
  override def listTimers(): Iterator[Long] = Iterator.empty
  override def registerTimer(millis: Long): Unit = ()
  override def deleteTimer(millis: Long): Unit = ()
}

object DueKeyTimers {
  /** Made as an object that is read from a file, without its constructor: Spark's prepares for rows that it never gets. */
  private val empty = ReflectionFactory.getReflectionFactory
    .newConstructorForSerialization(classOf[DueKeyTimers], classOf[Object].getConstructor())

  def apply(visits: DueKeys): DueKeyTimers = {
    val timers = empty.newInstance().asInstanceOf[DueKeyTimers]
    timers.visits = visits
    timers
  }
}
