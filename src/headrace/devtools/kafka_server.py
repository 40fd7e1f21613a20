"""A local Kafka cluster: KRaft, no ZooKeeper, from pinned jars.

One broker, or several with replication, each a process. Data and logs are in one directory; `cluster.json`
lists the processes. A broker is ready after some seconds and ends cleanly on SIGTERM.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from headrace.devtools.kafka_settings import LOG4J, Broker, security_settings, write_settings
from headrace.devtools.ports import HOST, free_ports, probe_port
from headrace.devtools.processes import DetachedProcess, launch, terminate
from headrace.errors import SetupError
from headrace.spark.cache import cache_directory, replace_atomically
from headrace.spark.download import Watcher, silent
from headrace.spark.jars import fetch
from headrace.spark.java import find_java

PORT = 9092
_CLUSTER_ID = "aGVhZHJhY2Uta2Fma2E0MQ"
_STARTED = "Kafka Server started"
# Small and quick to start: no large heap, no C2 compiler.
_JAVA = ("-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC")


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
        return any(process.running for process in self._processes())

    def stop(self, node: int | None = None, *, timeout: float = 30) -> None:
        """Stop all brokers, or one: cleanly, or by force after `timeout` seconds. The data remain."""
        terminate(self._processes(node), timeout=timeout)

    def kill(self, node: int) -> None:
        """Kill a broker."""
        for process in self._processes(node):
            process.send(signal.SIGKILL)
            while process.running:
                time.sleep(0.01)  # until then it holds its port and directory

    def _processes(self, node: int | None = None) -> list[DetachedProcess]:
        return [_process(self.directory, broker) for broker in self.brokers if node in (None, broker.node)]


def default_directory() -> Path:
    """Return the default data directory of `headrace kafka up`."""
    return cache_directory() / "kafka"


def running_cluster(directory: Path | None = None) -> Cluster | None:
    """Return the running cluster of a directory, if any."""
    directory = (directory or default_directory()).absolute()
    try:
        record = json.loads((directory / "cluster.json").read_text())
    except (OSError, ValueError):
        return None
    cluster = Cluster(directory, tuple(Broker(**broker) for broker in record["brokers"]))
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
    directory = (directory or default_directory()).absolute()
    if (running := running_cluster(directory)) is not None:
        raise SetupError(
            f"a Kafka cluster is already running in {directory}, at {running.servers}",
            where="kafka up",
            hint="use it, or stop it with headrace kafka down",
        )
    jars = fetch("kafka-broker", watch=watch)
    free = iter(free_ports(4 * brokers))
    chosen = [
        Broker(
            node,
            _require_free(port + node - 1) if port else next(free),
            next(free),
            next(free) if logins else 0,
            next(free) if certificate else 0,
        )
        for node in range(1, brokers + 1)
    ]
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "log4j2.properties").write_text(LOG4J)
    for broker in chosen:
        security = security_settings(broker, logins or {}, certificate)
        write_settings(directory, broker, chosen, security | dict(settings or {}))
    class_path = os.pathsep.join(map(str, jars))
    for broker in chosen:
        if not (directory / f"node-{broker.node}" / "data" / "meta.properties").exists():
            report(f"broker {broker.node}: formatting its directory")
            _format(directory, broker, class_path)
    started = tuple(_launch(directory, broker, class_path) for broker in chosen)
    cluster = Cluster(directory, started)
    _write_record(cluster)
    try:
        for broker in started:
            report(f"broker {broker.node}: starting on port {broker.port}")
            _wait_until_started(directory, broker)
    except BaseException:
        cluster.stop(timeout=5)
        raise
    return cluster


def restart(cluster: Cluster, node: int) -> Cluster:
    """Restart a broker of a cluster on its port."""
    class_path = os.pathsep.join(map(str, fetch("kafka-broker")))
    brokers = tuple(
        _launch(cluster.directory, broker, class_path) if broker.node == node else broker
        for broker in cluster.brokers
    )
    restarted = Cluster(cluster.directory, brokers)
    _write_record(restarted)
    for broker in brokers:
        if broker.node == node:
            _wait_until_started(cluster.directory, broker)
    return restarted


def _write_record(cluster: Cluster) -> None:
    record = {"servers": cluster.servers, "brokers": [asdict(broker) for broker in cluster.brokers]}
    replace_atomically(cluster.directory / "cluster.json", json.dumps(record, indent=2).encode())


def _format(directory: Path, broker: Broker, class_path: str) -> None:
    properties = str(directory / f"node-{broker.node}" / "server.properties")
    command = [
        *_java(directory, broker, class_path),
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
        raise SetupError(f"{directory} cannot be formatted as a Kafka directory: {reason}", where="kafka up")


def _launch(directory: Path, broker: Broker, class_path: str) -> Broker:
    properties = str(directory / f"node-{broker.node}" / "server.properties")
    command = [*_java(directory, broker, class_path), "kafka.Kafka", properties]
    process = launch(command, _mark(directory, broker), _log_file(directory, broker), dict(os.environ))
    return replace(broker, pid=process.pid)


def _wait_until_started(directory: Path, broker: Broker, timeout: float = 120) -> None:
    deadline = time.monotonic() + timeout
    while True:
        log = _log_file(directory, broker).read_text(errors="replace")
        if _STARTED in log:
            return
        if not _process(directory, broker).running or time.monotonic() > deadline:
            raise SetupError(
                f"broker {broker.node} did not start: {_reason(log)}",
                where="kafka up",
                hint=f"its log has more: {_log_file(directory, broker)}",
            )
        time.sleep(0.05)


def _reason(log: str) -> str:
    """Return the error line of a broker's log."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if "Exception" in line] or [line for line in lines if "ERROR" in line]
    return next(iter(errors or lines[-1:]), "its log is empty")


def _java(directory: Path, broker: Broker, class_path: str) -> list[str]:
    log4j = f"-Dlog4j2.configurationFile={(directory / 'log4j2.properties').as_uri()}"
    return [str(find_java().executable), *_JAVA, log4j, _mark(directory, broker), "-cp", class_path]


def _mark(directory: Path, broker: Broker) -> str:
    """Return the part of the command line that distinguishes a broker from a later process with its id."""
    return f"-Dheadrace.kafka={directory}/node-{broker.node}"


def _log_file(directory: Path, broker: Broker) -> Path:
    return directory / f"node-{broker.node}" / "server.log"


def _process(directory: Path, broker: Broker) -> DetachedProcess:
    return DetachedProcess(broker.pid, _mark(directory, broker))


def _require_free(port: int) -> int:
    """Return the port; raise an error if it is in use."""
    try:
        probe_port(port)
    except OSError as error:
        raise SetupError(
            f"port {port} cannot be used: {error.strerror}",
            where="kafka up",
            hint="take another with --port",
        ) from error
    return port
