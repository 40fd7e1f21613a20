// Declarations of Spark's Kafka source, for the compiler only; see Clients.java.
package org.apache.spark.sql.kafka010;

import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.InputPartition;
import scala.Option;

public class KafkaBatchInputPartition implements InputPartition {
  public KafkaOffsetRange offsetRange() { return null; }
  public Map<String, Object> executorKafkaParams() { return null; }
  public long pollTimeoutMs() { return 0; }
  public boolean failOnDataLoss() { return false; }
  public boolean includeHeaders() { return false; }
  public KafkaBatchInputPartition copy(
      KafkaOffsetRange range, Map<String, Object> params, long timeout, boolean fail, boolean headers) { return null; }
}

public class KafkaOffsetRange {
  public TopicPartition topicPartition() { return null; }
  public long fromOffset() { return 0; }
  public long untilOffset() { return 0; }
  public Option<String> preferredLoc() { return null; }
  public KafkaOffsetRange copy(TopicPartition partition, long from, long until, Option<String> preferred) { return null; }
}
