"""The properties of Kafka's clients and the options of Spark's reader, from the options of a connector."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headrace.connectors.kafka.options import Sasl, Tls, millis_of
from headrace.connectors.kafka.subscription import subscription
from headrace.durations import microseconds
from headrace.errors import OptionError

if TYPE_CHECKING:
    from headrace.connectors.kafka import Kafka

_FETCH = {
    "max.poll.records": "50000",
    "fetch.max.bytes": "104857600",
    "max.partition.fetch.bytes": "20971520",
}
"""Larger than Kafka's defaults: a sixth more rows per second, measured with small JSON records."""

Isolation = Literal["read_committed", "read_uncommitted"]

_LOW_LATENCY = {"retry.backoff.ms": "10"}
"""The pause of a new consumer before it fetches again; Kafka's default is 100 ms."""

_LOGINS = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_BYTES = "org.apache.kafka.common.serialization.ByteArray"


def client(options: Kafka) -> dict[str, str]:
    """Return the properties of every client: servers, security and timeouts."""
    timeout = str(microseconds(options.timeout) // 1000)
    return {
        "bootstrap.servers": options.servers,
        "default.api.timeout.ms": timeout,
        "request.timeout.ms": str(min(30_000, int(timeout))),
        **_security(options.tls, options.sasl),
        **{name: str(value) for name, value in options.settings.items()},
    }


def ledger_consumer(options: Kafka, isolation: Isolation) -> dict[str, str]:
    """Return the properties of a consumer that reads the ledger, without a group."""
    return client(options) | {
        "isolation.level": isolation,
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
        "key.deserializer": f"{_BYTES}Deserializer",
        "value.deserializer": f"{_BYTES}Deserializer",
    }


def producer(options: Kafka, transactional_id: str) -> dict[str, str]:
    """Return the properties of the driver's transactional producer."""
    return task_producer(options) | {
        "transactional.id": transactional_id,
        "transaction.timeout.ms": str(microseconds(options.transaction_timeout) // 1000),
    }


def task_producer(options: Kafka) -> dict[str, str]:
    """Return the properties of a producer without transactions; batches are large, as epochs are."""
    timeout = microseconds(options.timeout) // 1000
    defaults = {
        "linger.ms": "20",
        "batch.size": "262144",
        "buffer.memory": "67108864",
        # The proportions of Kafka's defaults: delivery is retried for four request timeouts, a call blocks
        # for two.
        "delivery.timeout.ms": str(4 * timeout),
        "max.block.ms": str(2 * timeout),
    }
    required = {
        "acks": "all",
        "enable.idempotence": "true",
        "compression.type": options.compression,
        "key.serializer": f"{_BYTES}Serializer",
        "value.serializer": f"{_BYTES}Serializer",
    }
    return defaults | client(options) | required


def reading(options: Kafka) -> dict[str, str]:
    """Return the options of the readers of Spark and the kernel, except for the start."""
    fetch = _FETCH if options.fetch == "throughput" else _LOW_LATENCY
    isolation = {"isolation.level": f"read_{options.isolation}"}
    reader = {
        "includeHeaders": str("headers" in options.metadata).lower(),
        "failOnDataLoss": str(options.on_data_loss == "fail").lower(),
        "maxOffsetsPerTrigger": options.max_per_batch,
        "minPartitions": options.min_tasks,
        **subscription(options),
    }
    clients = {f"kafka.{name}": value for name, value in (fetch | client(options) | isolation).items()}
    return clients | {name: str(value) for name, value in reader.items() if value is not None}


def starting(options: Kafka, partitions: dict[str, list[int]]) -> dict[str, str]:
    """Return the start options of Spark's reader, which need the offsets of all partitions or of none.

    Raises:
        OptionError: an offset is set for a partition that is not read.
    """
    start: Any = options.start
    if isinstance(start, str):
        return {"startingOffsets": start}
    if "time" in start:
        time = datetime.fromisoformat(start["time"])
        return {"startingTimestamp": str(millis_of(time)), "startingOffsetsByTimestampStrategy": "latest"}
    return {"startingOffsets": json.dumps(_complete(start["offsets"], partitions))}


def _complete(start: dict[str, Any], partitions: dict[str, list[int]]) -> dict[str, dict[str, int]]:
    by_topic = all(isinstance(offsets, dict) for offsets in start.values())
    if not by_topic and len(partitions) != 1:
        hint = "write {offsets: {payments: {0: 17}}}"
        raise OptionError("offsets of several topics need the topics' names", where="kafka: start", hint=hint)
    by_name = start if by_topic else {next(iter(partitions)): start}
    for topic, offsets in by_name.items():
        for partition in offsets:
            if int(partition) not in partitions.get(topic, ()):
                read = "; ".join(f"{name}: {numbers}" for name, numbers in sorted(partitions.items()))
                raise OptionError(
                    f"partition {partition} of `{topic}` is not read",
                    where="kafka: start",
                    hint=f"partitions that are read: {read}",
                )
    return {
        topic: {str(number): by_name.get(topic, {}).get(str(number), -2) for number in numbers}
        for topic, numbers in partitions.items()
    }


def _security(tls: Tls | None, sasl: Sasl | None) -> dict[str, str]:
    properties = {
        "security.protocol": f"{'SASL_' if sasl else ''}{'SSL' if tls is not None else 'PLAINTEXT'}"
    }
    if tls is not None:
        properties |= _tls(tls)
    if sasl is not None:
        login = f"{_LOGINS[sasl.mechanism]} required"
        secret = sasl.password.get_secret_value()
        properties["sasl.mechanism"] = sasl.mechanism
        properties["sasl.jaas.config"] = f"{login} username={_quote(sasl.user)} password={_quote(secret)};"
    return {} if properties == {"security.protocol": "PLAINTEXT"} else properties


def _tls(tls: Tls) -> dict[str, str]:
    """Return the certificates as text, so that executors on other machines need no files."""
    properties = {} if tls.verify_host else {"ssl.endpoint.identification.algorithm": ""}
    if tls.ca:
        properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _read(tls.ca, "ca")}
    if tls.certificate and tls.key:
        properties |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": _read(tls.certificate, "certificate"),
            "ssl.keystore.key": _read(tls.key, "key"),
        }
    if tls.key_password is not None:
        properties["ssl.key.password"] = tls.key_password.get_secret_value()
    return properties


def _read(path: str, option: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror}", where=f"kafka: tls.{option}") from error


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
