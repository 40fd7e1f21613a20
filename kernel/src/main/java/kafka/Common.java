// Declarations for the compiler only; see Clients.java.
package org.apache.kafka.common;

public final class Cluster {
  public Node leaderFor(TopicPartition partition) { return null; }
}

public enum IsolationLevel { READ_UNCOMMITTED, READ_COMMITTED }

public class KafkaException extends RuntimeException {}

public class Node {
  public String idString() { return null; }
}

public final class TopicPartition {
  public TopicPartition(String topic, int partition) {}
  public String topic() { return null; }
  public int partition() { return 0; }
}

public class Uuid {
  public static final Uuid ZERO_UUID = null;
}
