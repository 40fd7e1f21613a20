// Declarations for the compiler only; see Clients.java.
package org.apache.kafka.common.metrics;

public class Metrics {
  public void close() {}
}

public final class Sensor {}
