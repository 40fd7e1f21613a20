// Declarations of the parts of kafka-clients 3.9 that the kernel uses. The client is not on the class path when the
// kernel is compiled; the Scala compiler reads these files and generates no classes. The self-test of KafkaFetch
// detects a client that lacks one of them; Spark's reader is then used.
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
