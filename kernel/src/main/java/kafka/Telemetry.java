// Declarations for the compiler only; see Clients.java.
package org.apache.kafka.common.telemetry.internals;

public interface ClientTelemetrySender {}
