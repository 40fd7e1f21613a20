"""A local Spark standalone cluster: a master and workers, each a process, from the classes in pyspark.

As on a cluster of several machines, driver, master and executors are separate processes, but they share the
disk. Logs are in one directory; `cluster.json` lists the processes.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from headrace.devtools.ports import HOST, free_ports
from headrace.devtools.processes import DetachedProcess, launch, terminate
from headrace.errors import SetupError
from headrace.spark.cache import cache_directory, replace_atomically
from headrace.spark.java import find_java
from headrace.spark.kernel_jar import find_spark_home

PORT = 7077
START_TIMEOUT = 120.0
_RECORD = "cluster.json"
_DAEMON_MEMORY = "256m"
_DAEMON_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Duser.timezone=UTC"
_MASTER, _WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
_READY = {"master": "New state: ALIVE", "worker": "Successfully registered with master"}
_ADDRESS_IN_USE = re.compile(r"BindException|Address already in use")


@dataclass(frozen=True)
class ClusterOptions:
    """Size and address of a cluster."""

    workers: int = 2
    cores: int = 1
    """Cores, and so concurrent tasks, of each worker."""
    memory: str = "1g"
    """Memory of each worker for its executors."""
    port: int = PORT
    """Port of the master; 0 for any free one."""


@dataclass(frozen=True)
class ClusterNode:
    """The master or a worker."""

    name: str
    port: int
    web_port: int
    pid: int
    mark: str

    @property
    def process(self) -> DetachedProcess:
        return DetachedProcess(self.pid, self.mark)


@dataclass(frozen=True)
class SparkCluster:
    """A cluster on this machine."""

    directory: Path
    nodes: tuple[ClusterNode, ...]
    cores: int
    memory: str

    @property
    def master(self) -> str:
        """The address for `headrace run --master`."""
        return f"spark://{HOST}:{self.nodes[0].port}"

    @property
    def web(self) -> str:
        """The address of the master's web page."""
        return f"http://{HOST}:{self.nodes[0].web_port}"

    @property
    def workers(self) -> tuple[ClusterNode, ...]:
        return self.nodes[1:]

    @property
    def running(self) -> bool:
        """True if the master is running."""
        return self.nodes[0].process.running

    def log(self, node: ClusterNode) -> Path:
        """Return the log of a node."""
        return self.directory / node.name / f"{node.name}.log"

    def stop(self, *, timeout: float = 30) -> None:
        """End the workers, with their executors, then the master."""
        terminate([node.process for node in self.workers], timeout=timeout)
        terminate([self.nodes[0].process], timeout=timeout)
        (self.directory / _RECORD).unlink(missing_ok=True)


def default_directory() -> Path:
    """Return the default directory of `headrace cluster up`."""
    return cache_directory() / "cluster"


def running_cluster(directory: Path | None = None) -> SparkCluster | None:
    """Return the cluster whose master runs in a directory, if any."""
    directory = (directory or default_directory()).absolute()
    try:
        record = json.loads((directory / _RECORD).read_text())
    except (OSError, ValueError):
        return None
    nodes = tuple(ClusterNode(**node) for node in record["nodes"])
    cluster = SparkCluster(directory, nodes, record["cores"], record["memory"])
    return cluster if cluster.running else None


def start(
    directory: Path | None = None,
    options: ClusterOptions | None = None,
    *,
    report: Callable[[str], None] = lambda line: None,
) -> SparkCluster:
    """Start a master and its workers and wait until all have registered.

    Raises:
        SetupError: a cluster of the directory is running, or a process ended; quotes its log.
    """
    options = options or ClusterOptions()
    directory = (directory or default_directory()).absolute()
    if (running := running_cluster(directory)) is not None:
        hint = "use it, or stop it with headrace cluster down"
        raise SetupError(
            f"a cluster is already running in {directory}, at {running.master}", where="cluster up", hint=hint
        )
    ports = iter(free_ports(2 * options.workers + 2))
    master = _launch(directory, "master", options.port or next(ports), next(ports), [_MASTER])
    cluster = SparkCluster(directory, (master,), options.cores, options.memory)
    try:
        _wait_for_line(cluster, master, _READY["master"])
        report(f"the master is at {cluster.master}")
        workers = [
            _launch_worker(cluster, f"worker-{number}", next(ports), next(ports))
            for number in range(1, options.workers + 1)
        ]
        cluster = SparkCluster(directory, (master, *workers), options.cores, options.memory)
        _write_record(cluster)
        for worker in workers:
            _wait_for_line(cluster, worker, _READY["worker"])
            report(f"{worker.name} has registered: {options.cores} cores, {options.memory}")
    except BaseException:
        cluster.stop(timeout=5)
        raise
    return cluster


def add_worker(cluster: SparkCluster) -> SparkCluster:
    """Start one more worker and wait until it has registered."""
    port, web_port = free_ports(2)
    worker = _launch_worker(cluster, f"worker-{len(cluster.nodes)}", port, web_port)
    grown = SparkCluster(cluster.directory, (*cluster.nodes, worker), cluster.cores, cluster.memory)
    _write_record(grown)
    _wait_for_line(grown, worker, _READY["worker"])
    return grown


def _launch_worker(cluster: SparkCluster, name: str, port: int, web_port: int) -> ClusterNode:
    work = str(cluster.directory / name / "work")
    size = ["--cores", str(cluster.cores), "--memory", cluster.memory, "--work-dir", work]
    return _launch(cluster.directory, name, port, web_port, [_WORKER, *size], cluster.master)


def _launch(
    directory: Path, name: str, port: int, web_port: int, command: list[str], *arguments: str
) -> ClusterNode:
    home, mark = find_spark_home(), f"-Dheadrace.cluster={directory / name}"
    address = ["--host", HOST, "--port", str(port), "--webui-port", str(web_port)]
    process = launch(
        [str(home / "bin" / "spark-class"), *command, *address, *arguments],
        mark,
        directory / name / f"{name}.log",
        _environment(home, mark),
    )
    return ClusterNode(name, port, web_port, process.pid, mark)


def _environment(home: Path, mark: str) -> dict[str, str]:
    """Return the environment of a node, which executors inherit from their worker."""
    return {
        **os.environ,
        "SPARK_HOME": str(home),
        "JAVA_HOME": str(find_java().launcher_home()),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": _DAEMON_MEMORY,
        "SPARK_DAEMON_JAVA_OPTS": f"{_DAEMON_OPTIONS} {mark}",
    }


def _wait_for_line(cluster: SparkCluster, node: ClusterNode, line: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    log = cluster.log(node)
    while line not in (text := log.read_text(errors="replace")):
        ended = not node.process.running
        if ended or time.monotonic() > deadline:
            reason = (
                "its port is in use" if _ADDRESS_IN_USE.search(text) else "it ended" if ended else "too slow"
            )
            raise SetupError(
                f"{node.name} did not start: {reason}", where="cluster up", hint=f"its log: {log}"
            )
        time.sleep(0.1)


def _write_record(cluster: SparkCluster) -> None:
    record = {
        "master": cluster.master,
        "web": cluster.web,
        "cores": cluster.cores,
        "memory": cluster.memory,
        "nodes": [asdict(node) for node in cluster.nodes],
    }
    replace_atomically(cluster.directory / _RECORD, (json.dumps(record, indent=2) + "\n").encode())
