/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
// As in Consumer.java: declared for the compiler, no class is made of it.
package org.apache.kafka.common;

public final class TopicPartition {
  public String topic() { return null; }
  public int partition() { return 0; }
}
