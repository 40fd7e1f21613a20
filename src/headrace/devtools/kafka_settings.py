"""The settings of local Kafka brokers: KRaft, replication, ports with SASL and TLS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace.devtools.ports import HOST

LOG4J = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
"""


@dataclass(frozen=True)
class Broker:
    """One broker process."""

    node: int
    port: int
    controller_port: int
    login_port: int = 0
    """The port with SASL, if any."""
    tls_port: int = 0
    """The port with TLS, if any."""
    pid: int = 0


def write_settings(
    directory: Path, broker: Broker, brokers: Sequence[Broker], settings: Mapping[str, str]
) -> None:
    """Write the `server.properties` of a broker."""
    copies = str(min(3, len(brokers)))
    in_sync = "2" if len(brokers) >= 3 else "1"
    lines = {
        "process.roles": "broker,controller",
        "node.id": str(broker.node),
        "controller.quorum.voters": ",".join(f"{b.node}@{HOST}:{b.controller_port}" for b in brokers),
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(directory / f"node-{broker.node}" / "data"),
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": copies,
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": in_sync,
        "group.initial.rebalance.delay.ms": "0",
        "num.partitions": "4",
        **settings,
    }
    target = directory / f"node-{broker.node}" / "server.properties"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))


def security_settings(broker: Broker, logins: Mapping[str, str], certificate: Path | None) -> dict[str, str]:
    """Return the settings of the SASL and TLS ports."""
    ports = {"PLAINTEXT": (broker.port, "PLAINTEXT")}
    more: dict[str, str] = {}
    if logins:
        users = " ".join(f'user_{name}="{password}"' for name, password in logins.items())
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        ports["LOGIN"] = (broker.login_port, "SASL_PLAINTEXT")
        more["sasl.enabled.mechanisms"] = "PLAIN"
        more["listener.name.login.plain.sasl.jaas.config"] = f"{module} required {users};"
    if certificate is not None:
        ports["TLS"] = (broker.tls_port, "SSL")
        more["listener.name.tls.ssl.keystore.type"] = "PEM"
        more["listener.name.tls.ssl.keystore.location"] = str(certificate.absolute())
    public = [f"{name}://{HOST}:{port}" for name, (port, _) in ports.items()]
    protocols = ["CONTROLLER:PLAINTEXT", *(f"{name}:{protocol}" for name, (_, protocol) in ports.items())]
    return more | {
        "listeners": ",".join([*public, f"CONTROLLER://{HOST}:{broker.controller_port}"]),
        "advertised.listeners": ",".join(public),
        "listener.security.protocol.map": ",".join(protocols),
    }
