/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
package org.apache.spark.sql.headrace.windows

import java.lang.reflect.Field

import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateImpl
import org.apache.spark.sql.execution.streaming.state.StateStore

/** What is inside the handle that Spark gives a processor. It has no door to it, so it is found by its type. */
object Handle {
  def store(handle: StatefulProcessorHandleImpl): StateStore =
    field(classOf[StatefulProcessorHandleImpl], classOf[StateStore]).get(handle).asInstanceOf[StateStore]

  /** Puts other timers in the place of Spark's. */
  def setTimers(handle: StatefulProcessorHandleImpl, timers: TimerStateImpl): Unit = {
    makeTimers(handle)
    field(classOf[StatefulProcessorHandleImpl], classOf[TimerStateImpl]).set(handle, timers)
  }

  /** Has Spark make its timers, and the place for them in the state, which else waits for the first one. */
  def makeTimers(handle: StatefulProcessorHandleImpl): Unit = {
    val made = classOf[StatefulProcessorHandleImpl].getDeclaredMethods
      .find(m => m.getReturnType == classOf[TimerStateImpl] && m.getParameterCount == 0).get
    made.setAccessible(true)
    made.invoke(handle) // a lazy value: once made it stays what it is set to
  }

  private def field(of: Class[_], kind: Class[_]): Field = {
    val found = of.getDeclaredFields.find(_.getType == kind).getOrElse(
      throw new IllegalStateException(s"this Spark's ${of.getSimpleName} holds no ${kind.getSimpleName}"))
    found.setAccessible(true)
    found
  }
}
