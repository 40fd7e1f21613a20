// Declarations for the compiler only; see Clients.java.
package org.apache.kafka.clients.consumer;

import java.util.Map;
import org.apache.kafka.common.config.AbstractConfig;

public class ConsumerConfig extends AbstractConfig {
  public ConsumerConfig(Map<String, Object> values) {}
}
