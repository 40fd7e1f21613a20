/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
// What the kernel uses of Kafka's client. The client comes with the pipelines that need it and is not there when the
// kernel is compiled; the Scala compiler reads these declarations and makes no classes of them.
package org.apache.kafka.clients.consumer;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;

public class KafkaConsumer<K, V> {
  public KafkaConsumer(Map<String, Object> configs) {}
  public void assign(Collection<TopicPartition> partitions) {}
  public void seek(TopicPartition partition, long offset) {}
  public long position(TopicPartition partition) { return 0; }
  public ConsumerRecords<K, V> poll(Duration timeout) { return null; }
  public void close(Duration timeout) {}
}

public class ConsumerRecords<K, V> {
  public List<ConsumerRecord<K, V>> records(TopicPartition partition) { return null; }
}

public class ConsumerRecord<K, V> {
  public long offset() { return 0; }
  public V value() { return null; }
}

public class OffsetOutOfRangeException extends RuntimeException {}
