"""What Kafka's clients and Spark's reader are told, from the options of a connector."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.connectors.kafka.options import Sasl, Tls, millis_of
from headrace.durations import microseconds
from headrace.errors import OptionError

if TYPE_CHECKING:
    from headrace.connectors.kafka import Kafka

LEDGER = "_headrace_ledger"
"""The topic in which sinks note their epochs; compacted, one for all pipelines of a cluster."""

_FETCH = {
    "max.poll.records": "50000",
    "fetch.max.bytes": "104857600",
    "max.partition.fetch.bytes": "20971520",
}
"""Measured with small JSON records: a sixth more rows a second than with Kafka's own sizes."""

_SOON = {"retry.backoff.ms": "10"}
"""For latency: a consumer that has just been given its place looks again after this time, where Kafka's 100 ms would be felt."""

_LOGINS = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_BYTES = "org.apache.kafka.common.serialization.ByteArray"


def client(options: Kafka) -> dict[str, str]:
    """What every client needs: where the servers are, how to talk to them, how long to wait."""
    patience = str(microseconds(options.timeout) // 1000)
    return {
        "bootstrap.servers": options.servers,
        "default.api.timeout.ms": patience,
        "request.timeout.ms": str(min(30_000, int(patience))),
        **_security(options.tls, options.sasl),
        **{name: str(value) for name, value in options.settings.items()},
    }


def admin(options: Kafka) -> dict[str, str]:
    """For asking about topics and for committing a group's offsets."""
    return client(options)


def ledger_consumer(options: Kafka) -> dict[str, str]:
    """For reading the ledger: committed entries only, and no group."""
    return client(options) | {
        "isolation.level": "read_committed",
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
        "key.deserializer": f"{_BYTES}Deserializer",
        "value.deserializer": f"{_BYTES}Deserializer",
    }


def producer(options: Kafka, transactional_id: str) -> dict[str, str]:
    """For writing epochs: large batches, since an epoch's records come all at once."""
    tuned = {"linger.ms": "20", "batch.size": "262144", "buffer.memory": "67108864"}
    patience = microseconds(options.timeout) // 1000
    # In Kafka's own proportions: a record is sent again for four time-outs of a request, a call waits for two.
    tuned |= {"delivery.timeout.ms": str(4 * patience), "max.block.ms": str(2 * patience)}
    return (
        tuned
        | client(options)
        | {
            "transactional.id": transactional_id,
            "transaction.timeout.ms": str(microseconds(options.transaction_timeout) // 1000),
            "acks": "all",
            "enable.idempotence": "true",
            "compression.type": options.compression,
            "key.serializer": f"{_BYTES}Serializer",
            "value.serializer": f"{_BYTES}Serializer",
        }
    )


def reading(options: Kafka) -> dict[str, str]:
    """The options of Spark's reader and of the kernel's, but for where it starts."""
    fetch = _FETCH if options.fetch == "throughput" else _SOON
    ours = {"isolation.level": f"read_{options.isolation}"}
    given = {
        "includeHeaders": str("headers" in options.metadata).lower(),
        "failOnDataLoss": str(options.on_data_loss == "fail").lower(),
        "maxOffsetsPerTrigger": options.max_per_batch,
        "minPartitions": options.min_tasks,
        **subscription(options),
    }
    clients = {f"kafka.{name}": value for name, value in (fetch | client(options) | ours).items()}
    return clients | {name: str(value) for name, value in given.items() if value is not None}


def subscription(options: Kafka) -> dict[str, str]:
    """Which topics, in Spark's words."""
    if options.pattern:
        return {"subscribePattern": f"(?!{LEDGER}$)(?:{options.pattern})"}  # `.*` doesn't mean our own notes
    if options.assign:
        return {"assign": json.dumps(options.assign)}
    return {"subscribe": ",".join(named_topics(options))}


def named_topics(options: Kafka) -> tuple[str, ...]:
    """The topics that the options name; none where a pattern or a column does."""
    return (options.topic,) if options.topic else tuple(options.topics) or tuple(options.assign)


def starting(options: Kafka, partitions: dict[str, list[int]]) -> dict[str, str]:
    """Where Spark's reader starts, given the partitions there are: Spark wants all of them named, or none.

    Raises:
        OptionError: an offset is given for a partition that isn't read.
    """
    start: Any = options.start
    if isinstance(start, str):
        return {"startingOffsets": start}
    if "time" in start:
        moment = datetime.fromisoformat(start["time"])
        return {"startingTimestamp": str(millis_of(moment)), "startingOffsetsByTimestampStrategy": "latest"}
    return {"startingOffsets": json.dumps(_complete(start["offsets"], partitions))}


def _complete(given: dict[str, Any], partitions: dict[str, list[int]]) -> dict[str, dict[str, int]]:
    by_topic = all(isinstance(offsets, dict) for offsets in given.values())
    if not by_topic and len(partitions) != 1:
        hint = "write {offsets: {payments: {0: 17}}}"
        raise OptionError("several topics are read, and offsets name none", where="kafka: start", hint=hint)
    wanted = given if by_topic else {next(iter(partitions)): given}
    for topic, offsets in wanted.items():
        for partition in offsets:
            if int(partition) not in partitions.get(topic, ()):
                there = "; ".join(f"{name}: {numbers}" for name, numbers in sorted(partitions.items()))
                raise OptionError(
                    f"partition {partition} of `{topic}` isn't read",
                    where="kafka: start",
                    hint=f"read are {there}",
                )
    return {
        topic: {str(number): wanted.get(topic, {}).get(str(number), -2) for number in numbers}
        for topic, numbers in partitions.items()
    }


def _security(tls: Tls | None, sasl: Sasl | None) -> dict[str, str]:
    found = {"security.protocol": f"{'SASL_' if sasl else ''}{'SSL' if tls is not None else 'PLAINTEXT'}"}
    if tls is not None:
        found |= _tls(tls)
    if sasl is not None:
        login = f"{_LOGINS[sasl.mechanism]} required"
        secret = sasl.password.get_secret_value()
        found["sasl.mechanism"] = sasl.mechanism
        found["sasl.jaas.config"] = f"{login} username={_quoted(sasl.user)} password={_quoted(secret)};"
    return {} if found == {"security.protocol": "PLAINTEXT"} else found


def _tls(tls: Tls) -> dict[str, str]:
    """Certificates go along as text, so that executors on other machines need no files."""
    found = {} if tls.verify_host else {"ssl.endpoint.identification.algorithm": ""}
    if tls.ca:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _read(tls.ca, "ca")}
    if tls.certificate and tls.key:
        found |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": _read(tls.certificate, "certificate"),
            "ssl.keystore.key": _read(tls.key, "key"),
        }
    if tls.key_password is not None:
        found["ssl.key.password"] = tls.key_password.get_secret_value()
    return found


def _read(path: str, option: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise OptionError(f"{path} can't be read: {error.strerror}", where=f"kafka: tls.{option}") from error


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
