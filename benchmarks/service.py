"""The limits of the job service and its pages, with drivers that run no Spark.

    python -m benchmarks.service [--jobs 50] [--running 5] [--hours 24] [--open MINUTES]

Measures how long a page takes to load in a browser and an update on the server, the memory of the service,
and the size of the metrics' history. With `--open`, a job page stays open for so long, and the heap of the
page and the memory of the service are compared. Fails if a limit is exceeded.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from playwright.sync_api import Browser
from tests.support.browser import open_browser

from headrace.devtools.ports import free_ports
from headrace.jobs.server import run_server
from headrace.jobs.service import JobService
from headrace.jobs.store.database import Database
from headrace.jobs.store.schema import create_tables
from headrace.metrics.history import History

ROOT = Path(__file__).parents[1]
DOCUMENT = """name: numbers-{number}
sources: {{n: {{generator: {{rate: 10, columns: {{n: sequence}}}}}}}}
sinks: {{out: {{from: n, console: {{}}}}}}
"""
DRIVER = (sys.executable, str(ROOT / "tests" / "dashboard" / "simulated_driver.py"))
REPEATS = 7
SAMPLE_SECONDS = 10


@dataclass(frozen=True)
class Figure:
    """One measurement and its limit."""

    name: str
    value: float
    unit: str
    limit: float

    def __str__(self) -> str:
        mark = "" if self.value <= self.limit else "   EXCEEDED"
        return f"{self.name:<42} {self.value:>8.1f} {self.unit:<4} limit {self.limit:g}{mark}"


def main() -> None:
    """Measure, print the figures, and fail if one exceeds its limit."""
    parser = argparse.ArgumentParser(description="Limits of the job service.")
    parser.add_argument("--jobs", type=int, default=50)
    parser.add_argument("--running", type=int, default=5)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--open", type=float, default=0.0, metavar="MINUTES")
    parser.add_argument("--serve", nargs=2, metavar=("PORT", "DATA"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        port, data = options.serve
        run_server(JobService(Path(data), command=DRIVER), port=int(port))
        return
    with tempfile.TemporaryDirectory() as directory:
        figures = [*measure_service(Path(directory), options), measure_history(Path(directory), options)]
    for figure in figures:
        sys.stdout.write(f"{figure}\n")
    sys.exit(int(any(figure.value > figure.limit for figure in figures)))


def measure_service(directory: Path, options: argparse.Namespace) -> Iterator[Figure]:
    """Yield the figures of a service with many jobs."""
    with run_service(directory / "data") as (client, process):
        jobs = submit_jobs(client, options.jobs, options.running)
        url = str(client.base_url).rstrip("/")
        with open_browser() as browser:
            for name, path in (
                ("jobs", ""),
                ("graph", f"/jobs/{jobs[-1]}"),
                ("runs", f"/jobs/{jobs[-1]}/runs"),
            ):
                yield Figure(f"page loads: {name}", measure_load(browser, url + path), "ms", 1000)
            for name, path in (("rows of all jobs", "/ui/jobs/rows"), ("REST list", "/api/v1/jobs")):
                yield Figure(f"server time: {name}", repeat(partial(client.get, path)), "ms", 200)
            first = repeat(partial(message, client, f"/ui/events/{jobs[-1]}"))
            yield Figure("server time: first message of a job", first, "ms", 200)
            if options.open:
                yield from leaks(browser, f"{url}/jobs/{jobs[-1]}", process, options.open)
        yield Figure("memory of the service", memory(process), "MiB", 300)


@contextmanager
def run_service(data: Path) -> Iterator[tuple[httpx.Client, int]]:
    """Run a job service in a process of its own; yield a client and its pid."""
    port = free_ports(1)[0]
    command = [sys.executable, "-m", "benchmarks.service", "--serve", str(port), str(data)]
    process = subprocess.Popen(command, cwd=ROOT)
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120)
    try:
        wait_until(lambda: answers(client))
        yield client, process.pid
        for job in client.get("/api/v1/jobs").json():
            client.post(f"/api/v1/jobs/{job['id']}/kill")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def answers(client: httpx.Client) -> bool:
    """True if the service is up."""
    try:
        return client.get("/api/v1/health").status_code == 200
    except httpx.TransportError:
        return False


def submit_jobs(client: httpx.Client, number: int, running: int) -> list[str]:
    """Submit jobs and kill all but the last few; return their ids."""
    jobs = []
    for index in range(number):
        created = client.post("/api/v1/jobs", json={"document": DOCUMENT.format(number=index)}).json()
        jobs.append(str(created["id"]))
        if index < number - running:
            client.post(f"/api/v1/jobs/{created['id']}/kill")
    wait_until(lambda: count_running(client) == running)
    return jobs


def count_running(client: httpx.Client) -> int:
    """Return the number of running jobs."""
    return len(client.get("/api/v1/jobs", params={"state": "running"}).json())


def wait_until(condition: Callable[[], bool], seconds: float = 300.0) -> None:
    """Wait for a condition.

    Raises:
        SystemExit: it does not hold in time.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("the service did not become ready")
        time.sleep(0.1)


def repeat(action: Callable[[], object]) -> float:
    """Return the median duration in milliseconds, after one call to warm up."""
    action()
    durations = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        action()
        durations.append((time.perf_counter() - began) * 1000)
    return median(durations)


def measure_load(browser: Browser, url: str) -> float:
    """Return the median milliseconds until a page has loaded and its rows or its graph are drawn.

    Each load has an empty cache. The tab is open before, as that of a user is.
    """
    durations = []
    for _ in range(REPEATS):
        context = browser.new_context()
        page = context.new_page()
        began = time.perf_counter()
        page.goto(url, wait_until="load")
        page.locator("tr[data-job], .react-flow__node, #log").first.wait_for()
        durations.append((time.perf_counter() - began) * 1000)
        context.close()
    return median(durations)


def message(client: httpx.Client, path: str) -> None:
    """Open a stream of a page and wait for its first message."""
    with client.stream("GET", path) as response:
        for line in response.iter_lines():
            if line.startswith("data:"):
                return


def leaks(browser: Browser, url: str, process: int, minutes: float) -> Iterator[Figure]:
    """Keep a page open and yield the growth of its heap and of the service, after a minute of warm-up."""
    page = browser.new_context().new_page()
    page.goto(url)
    page.wait_for_timeout(60_000)
    before = (heap(page), memory(process))
    page.wait_for_timeout(minutes * 60_000)
    after = (heap(page), memory(process))
    yield Figure(f"growth of the page's heap in {minutes:g} min", after[0] - before[0], "MiB", 5)
    yield Figure(f"growth of the service in {minutes:g} min", after[1] - before[1], "MiB", 10)


def heap(page: Any) -> float:
    """Return the heap of a page in MiB, after a collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    size: float = session.send("Runtime.getHeapUsage")["usedSize"]
    return size / 2**20


def memory(process: int) -> float:
    """Return the resident memory of a process in MiB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure_history(directory: Path, options: argparse.Namespace) -> Figure:
    """Store the samples of some hours and return the size of the file."""
    file = directory / "history.db"
    database = Database(str(file))
    create_tables(database)
    history, end = History(database), time.time()
    samples = int(options.hours * 3600 / SAMPLE_SECONDS)
    for index in range(samples):
        for job in range(options.running):
            at = end - (samples - index) * SAMPLE_SECONDS
            history.add(f"job{job}", at, metrics(index), details(index))
    database.close()
    name = f"{options.hours:g} h of metrics of {options.running} jobs"
    return Figure(name, file.stat().st_size / 2**20, "MiB", 100)


def metrics(index: int) -> dict[str, Any]:
    """Return the metrics of a tick, with changing digits."""
    value = 1000.0 + 17.31 * (index % 997)
    names = ("rate_in", "rate_out", "watermark_delay_ms", "batch_ms", "state_rows", "state_bytes")
    counts = ("rows_in", "rows_out", "late", "dead_letters", "lag", "restarts", "mismatches")
    latency = dict.fromkeys(("p50", "p95", "p99"), value / 3)
    return {
        **dict.fromkeys(names, value),
        **dict.fromkeys(counts, index * 1013),
        "latency_ms": latency,
        "event_latency_ms": latency,
    }


def details(index: int) -> dict[str, float]:
    """Return the figures of ten steps, five phases and five partitions."""
    rate = 1000.0 + 17.31 * (index % 997)
    return {
        **{f"{side}/step_{number}": rate for number in range(10) for side in ("in", "out")},
        **{f"phase/phase{number}": index % 997 for number in range(5)},
        **{f"lag/topic-{number}": index * 1013 for number in range(5)},
    }


if __name__ == "__main__":
    main()
