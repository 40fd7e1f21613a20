/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
// As in Clients.java: declared for the compiler, no classes are made of it.
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
