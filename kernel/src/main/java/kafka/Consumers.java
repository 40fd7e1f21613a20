/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
// As in Clients.java: declared for the compiler, no classes are made of it.
package org.apache.kafka.clients.consumer;

import java.util.Map;
import org.apache.kafka.common.config.AbstractConfig;

public class ConsumerConfig extends AbstractConfig {
  public ConsumerConfig(Map<String, Object> values) {}
}
