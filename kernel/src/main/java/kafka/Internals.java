// Declarations for the compiler only; see Clients.java.
package org.apache.kafka.common.internals;

public class ClusterResourceListeners {}
