// Declarations for the compiler only; see Clients.java.
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
