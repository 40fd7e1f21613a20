package org.apache.spark.sql.headrace.kafka

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
 * Fetches batches of one partition from its leader, as they are on the server's disk.
 *
 * The network, encryption and logins are Kafka's own client's. What a consumer does above it for groups, and for each
 * record, isn't done; and where a consumer would try again, this one gives up.
 */
private final class PartitionFetcher(params: JMap[String, Object], partition: TopicPartition) {
  private val config = new ConsumerConfig(params)
  private val size = math.min(config.getInt("max.partition.fetch.bytes"), PartitionFetcher.MostBytes)
  private val committed = IsolationLevel.valueOf(config.getString("isolation.level").toUpperCase(Locale.ROOT))
  private val log = new LogContext(s"[headrace $partition] ")
  private val metrics = new Metrics
  private val metadata = new TopicMetadata(config, partition.topic, log)
  private val client = ClientUtils.createNetworkClient(
    config, metrics, "headrace", log, new ApiVersions, Time.SYSTEM, PartitionFetcher.AtOnce, metadata, null, null)

  /** For how long an answer may be left lying. Then the client takes the server for dead, though it is we who didn't look. */
  val patienceMs: Long = config.getInt("request.timeout.ms") / 2

  /** What the last request asks for, its number, and the answer if it has come. */
  private var asked = -1L
  private var request = -1
  private var answer: ClientResponse = _

  /** Asks for what begins at an offset, unless there is no connection yet. `fetch` takes the answer. */
  def ask(offset: Long): Unit = {
    val leader = metadata.fetch().leaderFor(partition)
    val now = System.currentTimeMillis()
    if (leader == null) metadata.requestUpdate(true)
    else if (client.ready(leader, now)) {
      val message = client.newClientRequest(leader.idString, wanted(offset), now, true)
      asked = offset
      request = message.correlationId
      answer = null
      client.send(message, now)
      poll(0)
    }
  }

  /**
   * What Kafka has from an offset on: perhaps nothing yet.
   *
   * @throws org.apache.kafka.common.KafkaException it can't tell, or not in time
   */
  def fetch(offset: Long, timeoutMs: Long): Answer = {
    val until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs)
    if (asked != offset) ask(offset)
    while (asked != offset || answer == null) {
      val patience = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime())
      if (patience <= 0) throw new TimeoutException(s"no answer for $partition")
      poll(if (asked == offset) patience else math.min(patience, PartitionFetcher.ConnectingMs))
      if (asked != offset) ask(offset)
    }
    asked = -1L
    partitionOf(answer)
  }

  def close(): Unit = {
    client.close()
    metadata.close()
    metrics.close()
  }

  /** An answer to a request before the last one is to nobody: the reader has gone elsewhere. */
  private def poll(waitMs: Long): Unit = {
    client.poll(waitMs, System.currentTimeMillis())
      .forEach(response => if (response.requestHeader.correlationId == request) answer = response)
    metadata.maybeThrowAnyException() // a login that is refused, a topic that isn't ours to read
    if (Thread.interrupted()) throw new InterruptedException // a poll would return at once, again and again
  }

  private def wanted(offset: Long): FetchRequest.Builder = {
    val part = new FetchRequest.PartitionData(Uuid.ZERO_UUID, offset, PartitionFetcher.NoLogStart, size, Optional.empty())
    FetchRequest.Builder
      .forConsumer(
        PartitionFetcher.TopicsByName, config.getInt("fetch.max.wait.ms"), config.getInt("fetch.min.bytes"),
        JCollections.singletonMap(partition, part))
      .isolationLevel(committed).setMaxBytes(size)
  }

  private def partitionOf(response: ClientResponse): Answer = {
    if (!response.hasResponse) throw new DisconnectException(s"the leader of $partition went away")
    val fetched = response.responseBody.asInstanceOf[FetchResponse]
    fetched.error.maybeThrow()
    val answer = fetched.data.responses.get(0).partitions.get(0)
    Errors.forCode(answer.errorCode).maybeThrow()
    answer
  }
}

private object PartitionFetcher {
  /** Less than half a region of the garbage collector's, which looks after what is larger one by one (launch.py). */
  private val MostBytes = 3 << 20
  /** The last version of a fetch that names topics: later ones want their ids. */
  private val TopicsByName: Short = 12
  private val NoLogStart = -1L
  private val AtOnce = 10
  private val ConnectingMs = 20L
}

/** Where the partitions of one topic are. */
private final class TopicMetadata(config: ConsumerConfig, topic: String, log: LogContext)
  extends Metadata(
    config.getLong("retry.backoff.ms"), config.getLong("retry.backoff.max.ms"), config.getLong("metadata.max.age.ms"),
    log, new ClusterResourceListeners) {
  bootstrap(ClientUtils.parseAndValidateAddresses(config))

  override protected def newMetadataRequestBuilder(): MetadataRequest.Builder =
    new MetadataRequest.Builder(JCollections.singletonList(topic), false)
}
