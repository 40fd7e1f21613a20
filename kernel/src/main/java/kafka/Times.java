/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
// As in Clients.java: declared for the compiler, no classes are made of it.
package org.apache.kafka.common.utils;

public abstract class BufferSupplier {
  public static BufferSupplier create() { return null; }
  public abstract void close();
}

public class LogContext {
  public LogContext(String prefix) {}
}

public interface Time {
  Time SYSTEM = null;
}
