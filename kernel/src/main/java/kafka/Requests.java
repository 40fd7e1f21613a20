// Declarations for the compiler only; see Clients.java.
package org.apache.kafka.common.requests;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.Records;

public class AbstractRequest {
  public static class Builder<T> {}
}

public class AbstractResponse {}

public class RequestHeader {
  public int correlationId() { return 0; }
}

public class MetadataRequest extends AbstractRequest {
  public static class Builder extends AbstractRequest.Builder<MetadataRequest> {
    public Builder(List<String> topics, boolean create) {}
  }
}

public class FetchRequest extends AbstractRequest {
  public static class Builder extends AbstractRequest.Builder<FetchRequest> {
    public static Builder forConsumer(
        short newest, int maxWait, int minBytes, Map<TopicPartition, PartitionData> wanted) { return null; }
    public Builder isolationLevel(IsolationLevel level) { return null; }
    public Builder setMaxBytes(int size) { return null; }
  }

  public static final class PartitionData {
    public PartitionData(Uuid topic, long offset, long logStart, int maxBytes, Optional<Integer> leaderEpoch) {}
  }
}

public class FetchResponse extends AbstractResponse {
  public FetchResponseData data() { return null; }
  public Errors error() { return null; }
  public static Records recordsOrFail(FetchResponseData.PartitionData partition) { return null; }
}
