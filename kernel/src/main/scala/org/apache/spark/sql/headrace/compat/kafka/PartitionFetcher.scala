package org.apache.spark.sql.headrace.compat.kafka

import java.util.concurrent.TimeUnit
import java.util.{Collections => JCollections, Locale, Map => JMap, Optional}

import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.kafka.clients.{ApiVersions, ClientResponse, ClientUtils, Metadata}
import org.apache.kafka.common.errors.{DisconnectException, TimeoutException}
import org.apache.kafka.common.internals.ClusterResourceListeners
import org.apache.kafka.common.message.FetchResponseData.{PartitionData => Answer}
import org.apache.kafka.common.metrics.Metrics
import org.apache.kafka.common.protocol.Errors
import org.apache.kafka.common.requests.{FetchRequest, FetchResponse, MetadataRequest}
import org.apache.kafka.common.utils.{LogContext, Time}
import org.apache.kafka.common.{IsolationLevel, TopicPartition, Uuid}

/**
 * Fetches record batches of one partition from its leader through Kafka's network client. It does without
 * consumer groups and per-record work; where a consumer would retry, it gives up.
 */
private[headrace] final class PartitionFetcher(params: JMap[String, Object], partition: TopicPartition) {
  private val config = new ConsumerConfig(params)
  private val size = math.min(config.getInt("max.partition.fetch.bytes"), PartitionFetcher.MostBytes)
  private val isolation = IsolationLevel.valueOf(config.getString("isolation.level").toUpperCase(Locale.ROOT))
  private val log = new LogContext(s"[headrace $partition] ")
  private val metrics = new Metrics
  private val metadata = new TopicMetadata(config, partition.topic, log)
  private val client = ClientUtils.createNetworkClient(config, metrics, "headrace", log, new ApiVersions,
    Time.SYSTEM, PartitionFetcher.AtOnce, metadata, null, null)

  /** How long a response may stay unread before the client takes the broker for dead. */
  val maxIdleMs: Long = config.getInt("request.timeout.ms") / 2

  /** Offset and correlation id of the pending request, and its response. */
  private var requestedOffset = -1L
  private var correlationId = -1
  private var response: ClientResponse = _

  /** Requests records from an offset, if the leader is connected; `fetch` receives the response. */
  def sendRequest(offset: Long): Unit = {
    val leader = metadata.fetch().leaderFor(partition)
    val now = System.currentTimeMillis()
    if (leader == null) metadata.requestUpdate(true)
    else if (client.ready(leader, now)) {
      val message = client.newClientRequest(leader.idString, buildRequest(offset), now, true)
      requestedOffset = offset
      correlationId = message.correlationId
      response = null
      client.send(message, now)
      poll(0)
    }
  }

  /**
   * Returns the records from an offset, possibly none.
   *
   * @throws org.apache.kafka.common.KafkaException on an error or timeout
   */
  def fetch(offset: Long, timeoutMs: Long): Answer = {
    val until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs)
    if (requestedOffset != offset) sendRequest(offset)
    while (requestedOffset != offset || response == null) {
      val remainingMs = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime())
      if (remainingMs <= 0) throw new TimeoutException(s"no response for $partition")
      poll(
        if (requestedOffset == offset) remainingMs else math.min(remainingMs, PartitionFetcher.ConnectingMs))
      if (requestedOffset != offset) sendRequest(offset)
    }
    requestedOffset = -1L
    partitionOf(response)
  }

  def close(): Unit = {
    client.close()
    metadata.close()
    metrics.close()
  }

  /** Receives responses; those to superseded requests are dropped. */
  private def poll(waitMs: Long): Unit = {
    client.poll(waitMs, System.currentTimeMillis())
      .forEach(next => if (next.requestHeader.correlationId == correlationId) response = next)
    metadata.maybeThrowAnyException() // authentication and authorization errors
    if (Thread.interrupted())
      throw new InterruptedException // otherwise poll would return immediately in a loop
  }

  private def buildRequest(offset: Long): FetchRequest.Builder = {
    val part = new FetchRequest.PartitionData(
      Uuid.ZERO_UUID, offset, PartitionFetcher.NoLogStart, size, Optional.empty())
    FetchRequest.Builder.forConsumer(PartitionFetcher.TopicsByName, config.getInt("fetch.max.wait.ms"),
      config.getInt("fetch.min.bytes"), JCollections.singletonMap(partition, part)).isolationLevel(isolation)
      .setMaxBytes(size)
  }

  private def partitionOf(response: ClientResponse): Answer = {
    if (!response.hasResponse) throw new DisconnectException(s"the leader of $partition disconnected")
    val fetched = response.responseBody.asInstanceOf[FetchResponse]
    fetched.error.maybeThrow()
    val data = fetched.data.responses.get(0).partitions.get(0)
    Errors.forCode(data.errorCode).maybeThrow()
    data
  }
}

private[headrace] object PartitionFetcher {
  /** Below half a G1 region, to avoid humongous allocations (region size: launch.py). */
  private val MostBytes = 3 << 20

  /** Last fetch version with topic names; later ones use topic ids. */
  private val TopicsByName: Short = 12
  private val NoLogStart = -1L
  private val AtOnce = 10
  private val ConnectingMs = 20L
}

private[headrace] final class TopicMetadata(config: ConsumerConfig, topic: String, log: LogContext)
    extends Metadata(config.getLong("retry.backoff.ms"), config.getLong("retry.backoff.max.ms"),
      config.getLong("metadata.max.age.ms"), log, new ClusterResourceListeners) {
  bootstrap(ClientUtils.parseAndValidateAddresses(config))

  override protected def newMetadataRequestBuilder(): MetadataRequest.Builder =
    new MetadataRequest.Builder(JCollections.singletonList(topic), false)
}
