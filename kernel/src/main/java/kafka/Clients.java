/*
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 */
// What the kernel uses of Kafka's client. The client comes with the pipelines that need it and is not there when the
// kernel is compiled; the Scala compiler reads these declarations and makes no classes of them. They are those of 3.9:
// where another version is found and lacks one, Spark's own reader is taken (Links.scala).
package org.apache.kafka.clients;

import java.net.InetSocketAddress;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.MetadataRequest;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.telemetry.internals.ClientTelemetrySender;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

public class ApiVersions {}

public final class ClientRequest {
  public int correlationId() { return 0; }
}

public class ClientResponse {
  public boolean hasResponse() { return false; }
  public RequestHeader requestHeader() { return null; }
  public AbstractResponse responseBody() { return null; }
}

public final class ClientUtils {
  public static List<InetSocketAddress> parseAndValidateAddresses(AbstractConfig config) { return null; }
  public static NetworkClient createNetworkClient(
      AbstractConfig config, Metrics metrics, String prefix, LogContext log, ApiVersions versions, Time time,
      int inFlight, Metadata metadata, Sensor throttled, ClientTelemetrySender telemetry) { return null; }
}

public class Metadata {
  public Metadata(long backoff, long backoffMax, long expire, LogContext log, ClusterResourceListeners listeners) {}
  public void bootstrap(List<InetSocketAddress> addresses) {}
  public Cluster fetch() { return null; }
  public int requestUpdate(boolean resetBackoff) { return 0; }
  public void maybeThrowAnyException() {}
  public void close() {}
  protected MetadataRequest.Builder newMetadataRequestBuilder() { return null; }
}

public class NetworkClient {
  public boolean ready(Node node, long now) { return false; }
  public ClientRequest newClientRequest(
      String node, AbstractRequest.Builder<?> builder, long created, boolean expectResponse) { return null; }
  public void send(ClientRequest request, long now) {}
  public List<ClientResponse> poll(long timeout, long now) { return null; }
  public void close() {}
}
