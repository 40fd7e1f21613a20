// Declarations for the compiler only; see Clients.java.
package org.apache.kafka.common.message;

import java.util.List;

public class FetchResponseData {
  public List<FetchableTopicResponse> responses() { return null; }

  public static class FetchableTopicResponse {
    public List<PartitionData> partitions() { return null; }
  }

  public static class PartitionData {
    public short errorCode() { return 0; }
    public List<AbortedTransaction> abortedTransactions() { return null; }
  }

  public static class AbortedTransaction {
    public long producerId() { return 0; }
    public long firstOffset() { return 0; }
  }
}
