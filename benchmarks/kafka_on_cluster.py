"""The Kafka sink on a standalone cluster of two workers: its rate, and the memory of the driver.

    python -m benchmarks.kafka_on_cluster [--rows 100000 1000000] [--guarantee exactly_once at_least_once]

With `exactly_once` all records of an epoch pass through the transaction of the driver; with `at_least_once` the
tasks send them. Each run is a process of its own with a driver heap of 512 MiB: a small epoch that warms up, then
one epoch of `--rows` JSON records of 200 bytes, from files to a topic with two partitions. It prints the rate of the
large epoch, its CPU time over all processes and the driver's largest resident memory, and fails if the topic does not
have as many records.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cpu_meter import CpuMeter
from benchmarks.topics import create_empty_topic, kafka
from headrace import Pipeline, connect
from headrace.connectors.base import Guarantee
from headrace.devtools import spark_cluster
from headrace.devtools.kafka_client import Client
from headrace.devtools.spark_cluster import ClusterOptions

HEAP = "512m"
WARM = 10_000
FILES = 2
GUARANTEES: tuple[Guarantee, ...] = ("exactly_once", "at_least_once")


def main() -> None:
    """Run each size with each guarantee."""
    parser = argparse.ArgumentParser(description="The Kafka sink on a cluster.")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--guarantee", nargs="+", choices=GUARANTEES, default=GUARANTEES)
    parser.add_argument("--job", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        run_job(*options.job, rows=options.rows[0], guarantee=options.guarantee[0])
        return
    with tempfile.TemporaryDirectory() as directory, CpuMeter() as meter, kafka() as servers:
        place = Path(directory)
        cluster = spark_cluster.start(place / "cluster", ClusterOptions(workers=2, port=0))
        try:
            for rows in options.rows:
                for guarantee in options.guarantee:
                    work = place / f"{guarantee}-{rows}"
                    measure(work, servers, cluster.master, rows=rows, guarantee=guarantee, meter=meter)
        finally:
            cluster.stop()


def measure(
    work: Path, servers: str, master: str, *, rows: int, guarantee: Guarantee, meter: CpuMeter
) -> None:
    """Run a driver in its own process and print its figures."""
    topic = create_empty_topic(servers, work.name)
    before = meter.seconds()
    job = ["--job", str(work), servers, topic, master, "--rows", str(rows), "--guarantee", guarantee]
    command = [sys.executable, "-m", "benchmarks.kafka_on_cluster", *job]
    figures = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.splitlines()[-1])
    cpu = meter.seconds() - before
    [written] = [each.records for each in Client(servers).topics() if each.name == topic]
    sys.stdout.write(
        f"{guarantee:<14} {rows:>9,} records, {figures['bytes'] / 1e6:6.0f} MB: {figures['seconds']:6.1f} s, "
        f"{rows / figures['seconds']:9,.0f} records/s; the whole run {cpu:6.1f} s CPU; driver at most "
        f"{figures['resident'] / 2**20:4.0f} MiB, heap of {HEAP}\n"
    )
    sys.stdout.flush()
    if written < rows + WARM:  # a transaction adds its markers
        sys.exit(f"the topic has {written} records")


def run_job(
    directory: str, servers: str, topic: str, master: str, *, rows: int, guarantee: Guarantee
) -> None:
    """Run both epochs in this process; print the seconds of the second and the driver's memory as JSON."""
    place = Path(directory)
    write(place / "in", range(WARM), "warm")
    run(place, servers, topic, master, guarantee)
    size = write(place / "in", range(WARM, WARM + rows), "large")
    began = time.perf_counter()
    run(place, servers, topic, master, guarantee)
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "bytes": size, "resident": resident_of_jvm()}))


def run(place: Path, servers: str, topic: str, master: str, guarantee: Guarantee) -> None:
    """Write the available rows in one epoch."""
    pipeline = Pipeline("kafka-on-cluster")
    source = connect.files(path=str(place / "in"), format="json")
    lines = pipeline.read("rows", source, schema="id bigint, filling string")
    lines.write("out", connect.kafka(servers=servers, topic=topic, guarantee=guarantee))
    conf = {"spark.driver.memory": HEAP}
    pipeline.run(until="caught_up", checkpoint=place / "checkpoint", master=master, conf=conf)


def write(place: Path, numbers: Sequence[int], name: str) -> int:
    """Write rows in one file per task; return their bytes."""
    place.mkdir(parents=True, exist_ok=True)
    files = [place / f"{name}-{part}.json" for part in range(FILES)]
    for part, file in enumerate(files):
        filling = "x" * 170
        with file.open("w") as output:
            output.writelines(f'{{"id":{number},"filling":"{filling}"}}\n' for number in numbers[part::FILES])
    return sum(file.stat().st_size for file in files)


def resident_of_jvm() -> int:
    """Return the largest resident memory, in bytes, of the JVM that this process has started."""
    for status in Path("/proc").glob("[0-9]*/status"):
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        if int(lines["PPid"]) == os.getpid() and lines["Name"].strip() == "java":
            return int(lines["VmHWM"].split()[0]) * 1024
    raise SystemExit("the JVM of the driver was not found")


if __name__ == "__main__":
    main()
