"""A local Kafka cluster: KRaft, no ZooKeeper, from pinned jars.

One broker, or several with replication, each a process. Data and logs are in one directory; `cluster.json`
lists the processes. A broker is ready after some seconds and ends cleanly on SIGTERM.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from headrace.errors import SetupError
from headrace.spark.cache import cache_directory, replace_atomically
from headrace.spark.download import Watcher, silent
from headrace.spark.jars import fetch
from headrace.spark.java import find_java

HOST = "127.0.0.1"
PORT = 9092
_OURS = range(10_000, 32_768)
"""Range for free ports, below the ephemeral ports of Linux and other systems."""
_CLUSTER_ID = "aGVhZHJhY2Uta2Fma2E0MQ"
_STARTED = "Kafka Server started"
_LOG4J = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
"""
# Small and quick to start: no large heap, no C2 compiler.
_JAVA = ("-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC")


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


@dataclass(frozen=True)
class Cluster:
    """A cluster on this machine."""

    directory: Path
    brokers: tuple[Broker, ...]

    @property
    def servers(self) -> str:
        """The bootstrap servers."""
        return ",".join(f"{HOST}:{broker.port}" for broker in self.brokers)

    @property
    def running(self) -> bool:
        """True if a broker is running."""
        return any(_alive(self.directory, broker) for broker in self.brokers)

    def stop(self, node: int | None = None, *, patience: float = 30) -> None:
        """Stop all brokers, or one: cleanly, or by force after `patience` seconds. The data remain."""
        chosen = [broker for broker in self.brokers if node in (None, broker.node)]
        for broker in chosen:
            _signal(self.directory, broker, signal.SIGTERM)
        deadline = time.monotonic() + patience
        for broker in chosen:
            while _alive(self.directory, broker):
                if time.monotonic() > deadline:
                    _signal(self.directory, broker, signal.SIGKILL)
                time.sleep(0.05)

    def kill(self, node: int) -> None:
        """Kill a broker."""
        for broker in self.brokers:
            if broker.node == node:
                _signal(self.directory, broker, signal.SIGKILL)
                while _alive(self.directory, broker):
                    time.sleep(0.01)  # until then it holds its port and directory


def default_directory() -> Path:
    """Return the default data directory of `headrace kafka up`."""
    return cache_directory() / "kafka"


def running_cluster(directory: Path | None = None) -> Cluster | None:
    """Return the running cluster of a directory, if any."""
    place = (directory or default_directory()).absolute()
    try:
        noted = json.loads((place / "cluster.json").read_text())
    except (OSError, ValueError):
        return None
    cluster = Cluster(place, tuple(Broker(**broker) for broker in noted["brokers"]))
    return cluster if cluster.running else None


def start(
    directory: Path | None = None,
    *,
    port: int = PORT,
    brokers: int = 1,
    logins: Mapping[str, str] | None = None,
    certificate: Path | None = None,
    settings: Mapping[str, str] | None = None,
    watch: Watcher = silent,
    report: Callable[[str], None] = lambda line: None,
) -> Cluster:
    """Start a cluster with the data of a directory and wait until it is ready.

    Args:
        directory: data and logs; default: the cache.
        port: of the first broker, the others use the next ones; 0: any free ports.
        brokers: the number of brokers; with three or more, topics are replicated.
        logins: names and passwords; adds a port with SASL/PLAIN to each broker.
        certificate: a PEM file with private key and certificate; adds a port with TLS to each broker.
        settings: further broker settings, as in `server.properties`.
        watch: receives the progress of downloads.
        report: receives a line about each step.

    Raises:
        SetupError: a port or the directory is in use, or a broker ended; quotes its log.
    """
    place = (directory or default_directory()).absolute()
    if (running := running_cluster(place)) is not None:
        raise SetupError(
            f"a Kafka of {place} runs already, at {running.servers}",
            where="kafka up",
            hint="use it, or end it with headrace kafka down",
        )
    jars = fetch("kafka-broker", watch=watch)
    free = iter(free_ports(4 * brokers))
    chosen = [
        Broker(
            node,
            _usable(port + node - 1) if port else next(free),
            next(free),
            next(free) if logins else 0,
            next(free) if certificate else 0,
        )
        for node in range(1, brokers + 1)
    ]
    place.mkdir(parents=True, exist_ok=True)
    (place / "log4j2.properties").write_text(_LOG4J)
    for broker in chosen:
        _configure(
            place,
            broker,
            chosen,
            _security_settings(broker, logins or {}, certificate) | dict(settings or {}),
        )
    class_path = os.pathsep.join(map(str, jars))
    for broker in chosen:
        if not (place / f"node-{broker.node}" / "data" / "meta.properties").exists():
            report(f"broker {broker.node}: making its directory")
            _format(place, broker, class_path)
    started = tuple(_launch(place, broker, class_path) for broker in chosen)
    cluster = Cluster(place, started)
    _note(cluster)
    try:
        for broker in started:
            report(f"broker {broker.node}: starting on port {broker.port}")
            _await(place, broker)
    except BaseException:
        cluster.stop(patience=5)
        raise
    return cluster


def restart(cluster: Cluster, node: int) -> Cluster:
    """Restart a broker of a cluster on its port."""
    class_path = os.pathsep.join(map(str, fetch("kafka-broker")))
    brokers = tuple(
        _launch(cluster.directory, broker, class_path) if broker.node == node else broker
        for broker in cluster.brokers
    )
    again = Cluster(cluster.directory, brokers)
    _note(again)
    for broker in brokers:
        if broker.node == node:
            _await(cluster.directory, broker)
    return again


def _note(cluster: Cluster) -> None:
    noted = {"servers": cluster.servers, "brokers": [asdict(broker) for broker in cluster.brokers]}
    replace_atomically(cluster.directory / "cluster.json", json.dumps(noted, indent=2).encode())


def _configure(place: Path, broker: Broker, all_of_them: list[Broker], settings: Mapping[str, str]) -> None:
    copies = str(min(3, len(all_of_them)))
    in_sync = "2" if len(all_of_them) >= 3 else "1"
    lines = {
        "process.roles": "broker,controller",
        "node.id": str(broker.node),
        "controller.quorum.voters": ",".join(f"{b.node}@{HOST}:{b.controller_port}" for b in all_of_them),
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(place / f"node-{broker.node}" / "data"),
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
    target = place / f"node-{broker.node}" / "server.properties"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))


def _security_settings(broker: Broker, logins: Mapping[str, str], certificate: Path | None) -> dict[str, str]:
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


def _format(place: Path, broker: Broker, class_path: str) -> None:
    properties = str(place / f"node-{broker.node}" / "server.properties")
    command = [
        *_java(place, broker, class_path),
        "kafka.tools.StorageTool",
        "format",
        "-t",
        _CLUSTER_ID,
        "-c",
        properties,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = _reason(done.stderr + done.stdout)
        raise SetupError(f"{place} can't be made a Kafka directory: {reason}", where="kafka up")


def _launch(place: Path, broker: Broker, class_path: str) -> Broker:
    properties = str(place / f"node-{broker.node}" / "server.properties")
    log = _log(place, broker)
    log.unlink(missing_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*_java(place, broker, class_path), "kafka.Kafka", properties],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is handled by this process
        )
    _children.append(process)
    return replace(broker, pid=process.pid)


_children: list[subprocess.Popen[bytes]] = []
"""Processes started here; they are waited for, so that none remains as a zombie."""


def _await(place: Path, broker: Broker, patience: float = 120) -> None:
    deadline = time.monotonic() + patience
    while True:
        log = _log(place, broker).read_text(errors="replace")
        if _STARTED in log:
            return
        if not _alive(place, broker) or time.monotonic() > deadline:
            raise SetupError(
                f"broker {broker.node} didn't start: {_reason(log)}",
                where="kafka up",
                hint=f"its log has more: {_log(place, broker)}",
            )
        time.sleep(0.05)


def _reason(log: str) -> str:
    """Return the line of the log of a broker with the error."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    wrong = [line for line in lines if "Exception" in line] or [line for line in lines if "ERROR" in line]
    return next(iter(wrong or lines[-1:]), "no word in its log")


def _java(place: Path, broker: Broker, class_path: str) -> list[str]:
    log4j = f"-Dlog4j2.configurationFile={(place / 'log4j2.properties').as_uri()}"
    return [str(find_java().executable), *_JAVA, log4j, _mark(place, broker), "-cp", class_path]


def _mark(place: Path, broker: Broker) -> str:
    """Return the start time of a process, which distinguishes it from a later one with its id."""
    return f"-Dheadrace.kafka={place}/node-{broker.node}"


def _log(place: Path, broker: Broker) -> Path:
    return place / f"node-{broker.node}" / "server.log"


def _alive(place: Path, broker: Broker) -> bool:
    if (child := next((process for process in _children if process.pid == broker.pid), None)) is not None:
        return child.poll() is None  # a zombie still has an entry
    return _mark(place, broker) in _command(broker.pid)


def _command(pid: int) -> str:
    """Return the command line of a process; empty if there is none."""
    if Path("/proc/self").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        except OSError:
            return ""
    shown = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(shown, capture_output=True, text=True, check=False).stdout


def _signal(place: Path, broker: Broker, number: signal.Signals) -> None:
    if _alive(place, broker):
        os.kill(broker.pid, number)


def _usable(port: int) -> int:
    """Return the port if it is free."""
    try:
        _probe(port).close()
    except OSError as error:
        raise SetupError(
            f"port {port} can't be used: {error.strerror}",
            where="kafka up",
            hint="take another with --port",
        ) from error
    return port


def free_ports(count: int) -> list[int]:
    """Return free ports outside the ephemeral range, from which other processes take theirs."""
    ports: list[int] = []
    for port in random.SystemRandom().sample(_OURS, len(_OURS)):
        if len(ports) == count:
            break
        with suppress(OSError):
            _probe(port).close()
            ports.append(port)
    return ports


def _probe(port: int) -> socket.socket:
    probe = socket.socket()
    try:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
    except OSError:
        probe.close()
        raise
    return probe
