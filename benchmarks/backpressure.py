"""Backpressure: a tenfold burst into a slow sink waits in Kafka, memory stays bounded, no event is lost.

    python -m benchmarks backpressure                  # 3 minutes; plot in benchmarks/results
    python -m benchmarks backpressure --picture docs/images/backpressure.svg

Events of 4 kB arrive at a steady rate, then ten times as fast for a while, then at the steady rate again. The
sink accepts three times the steady rate. The burst is larger than the JVM's heap.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from pydantic import PrivateAttr

from benchmarks import harness, topics
from headrace import Pipeline, connect
from headrace.connectors.base import Connector, Guarantee, Role, Staged, StagedRows, WriteContext, Writer
from headrace.devtools.kafka_client import Client

HEAP = "768m"
PAYLOAD = "x" * 4_000


class SlowSink(Connector):
    """A sink that records column `n` of every row and delays each epoch."""

    kind: ClassVar[str] = "slow"
    roles: ClassVar[frozenset[Role]] = frozenset({"sink"})
    delivers: ClassVar[Guarantee] = "exactly_once"

    _numbers: list[int] = PrivateAttr(default_factory=list)
    _epochs: list[int] = PrivateAttr(default_factory=list)
    _pause: list[Callable[[int], None]] = PrivateAttr(default_factory=list)

    @classmethod
    def waiting(cls, pause: Callable[[int], None]) -> SlowSink:
        """Return a sink that calls `pause` with the number of rows before it accepts an epoch."""
        sink = cls()
        sink._pause.append(pause)
        return sink

    @property
    def numbers(self) -> list[int]:
        """Return the numbers of all received rows, in the order of the epochs."""
        return self._numbers

    @property
    def epochs(self) -> list[int]:
        """Return the rows per epoch."""
        return self._epochs

    def writer(self) -> Writer:
        return _Writer(self)


class _Writer:
    def __init__(self, sink: SlowSink) -> None:
        self._sink = sink

    def open(self, run: WriteContext) -> int:
        return -1

    def stage(self, epoch: int, frame: Any) -> Staged:
        numbers = frame.select("n").toArrow().column("n").to_pylist()
        for pause in self._sink._pause:
            pause(len(numbers))
        self._sink.numbers.extend(numbers)
        self._sink.epochs.append(len(numbers))
        return StagedRows(len(numbers))

    def commit(self, epoch: int, staged: Staged) -> None:
        """Do nothing: rows are recorded in `stage`; the sink does not support recovery."""

    def close(self) -> None:
        """Do nothing: the sink has no connection."""


@dataclass(frozen=True)
class Load:
    """A steady rate of events, with a burst after `steady` seconds."""

    rate: int
    steady: float
    burst: float

    def at(self, second: float) -> float:
        """Return the number of events due by this second."""
        before = min(second, self.steady)
        within = min(max(second - self.steady, 0), self.burst)
        after = max(second - self.steady - self.burst, 0)
        return self.rate * (before + 10 * within + after)


@dataclass(frozen=True)
class Moment:
    """A sample: events sent and delivered so far, and bytes of the JVM's heap in use."""

    second: float
    sent: int
    delivered: int
    heap: int


@dataclass
class Sender:
    """Sends numbered events to a topic at the rate of the load until the sink has caught up."""

    servers: str
    topic: str
    load: Load
    sent: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Send until `done`, then flush."""
        import confluent_kafka

        producer = confluent_kafka.Producer(
            {"bootstrap.servers": self.servers, "linger.ms": 20, "acks": "all", "log_level": 3}
        )
        start = time.monotonic()
        while not self.done.wait(0.02):
            for number in range(self.sent, int(self.load.at(time.monotonic() - start))):
                value = f'{{"n":{number},"note":"{PAYLOAD}"}}'
                while True:
                    try:
                        producer.produce(self.topic, value, partition=number % topics.PARTITIONS)
                        break
                    except BufferError:
                        producer.poll(0.1)
                self.sent = number + 1
            producer.poll(0)
        if producer.flush(60):
            raise SystemExit("not all events could be sent")


def build_pipeline(servers: str, topic: str, sink: SlowSink, *, max_per_batch: int) -> Pipeline:
    """Build a pipeline from the topic to the sink with a limit of events per epoch."""
    pipeline = Pipeline("backpressure")
    source = connect.kafka(servers=servers, topic=topic, max_per_batch=max_per_batch)
    pipeline.read("events", source, format="json", schema="n bigint, note string").write("out", sink)
    return pipeline


def measure(load: Load, place: Path) -> list[Moment]:
    """Run the load and sample twice a second."""
    sink = SlowSink.waiting(_at_most(3 * load.rate))
    with topics.kafka() as servers:
        topic = topics.create_empty_topic(servers, "burst")
        sender = Sender(servers, topic, load)
        pipeline = build_pipeline(servers, topic, sink, max_per_batch=5 * load.rate)
        options: dict[str, Any] = {"master": "local[2]", "conf": {"spark.driver.memory": HEAP}}
        with pipeline.start(checkpoint=place / "checkpoint", **options) as running:
            thread = threading.Thread(target=sender.run)
            thread.start()
            try:
                samples = list(_watch(running.spark, sender, sink))
            finally:
                sender.done.set()
                thread.join()
            _await_all(sink, sender.sent)
            running.stop()
        written = sum(item.records for item in Client(servers).topics() if item.name == topic)
    lost = written - len(set(sink.numbers))
    duplicates = len(sink.numbers) - len(set(sink.numbers))
    print(f"{written:,} events were sent; {lost} lost, {duplicates} duplicates", flush=True)
    if lost or duplicates:
        raise SystemExit("events were lost or duplicated")
    return samples


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks backpressure", description=__doc__)
    parser.add_argument("--rate", type=int, default=1_000, help="events a second, before and after the burst")
    parser.add_argument("--steady", type=float, default=30, help="seconds before the burst")
    parser.add_argument("--burst", type=float, default=30, help="seconds of the burst")
    parser.add_argument("--picture", type=Path, help="path of the plot; default: benchmarks/results")
    chosen = parser.parse_args()
    load = Load(chosen.rate, chosen.steady, chosen.burst)
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as place:
        samples = measure(load, Path(place))
    harness.RESULTS.mkdir(exist_ok=True)
    (harness.RESULTS / "backpressure.json").write_text(
        json.dumps([asdict(item) for item in samples], indent=2)
    )
    plot(load, samples, chosen.picture or harness.RESULTS / "backpressure.svg")
    before = max(item.heap for item in samples if item.second <= load.steady)
    later = max(item.heap for item in samples if item.second > load.steady)
    behind = max(item.sent - item.delivered for item in samples)
    print(
        f"at most {behind:,} events waited; heap at most {before / 2**20:.0f} MiB before the burst and "
        f"{later / 2**20:.0f} MiB from then on, of {HEAP}",
        flush=True,
    )


def plot(load: Load, samples: list[Moment], path: Path) -> None:
    """Plot rates, waiting events and memory over time."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "headrace"
    figure, (rates, waiting, memory) = pyplot.subplots(3, 1, figsize=(8, 7), sharex=True)
    seconds = [item.second for item in samples]
    for name, label, colour in (
        ("sent", "sent to the topic", "tab:blue"),
        ("delivered", "delivered to the sink", "tab:orange"),
    ):
        rates.plot(*_rates(samples, name), label=label, color=colour)
    waiting.plot(seconds, [item.sent - item.delivered for item in samples], color="tab:green")
    memory.plot(
        seconds, [item.heap / 2**20 for item in samples], linewidth=0.8, color="tab:purple", label="in use"
    )
    memory.axhline(int(HEAP.rstrip("m")), linestyle="--", color="grey", label="at most")
    titles = ("events a second", "events waiting in Kafka", "the JVM's heap, MiB")
    for axes, title in zip((rates, waiting, memory), titles, strict=True):
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, seconds[-1])
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.3)
        axes.axvspan(load.steady, load.steady + load.burst, alpha=0.1, color="tab:red", linewidth=0)
    memory.set_ylim(top=1.1 * int(HEAP.rstrip("m")))
    middle = load.steady + load.burst / 2
    waiting.annotate(
        "the burst",
        (middle, 0.97),
        xycoords=("data", "axes fraction"),
        ha="center",
        va="top",
        color="tab:red",
    )
    rates.legend(loc="upper right", frameon=False)
    memory.legend(loc="upper right", frameon=False, ncols=2, bbox_to_anchor=(1, 1.22))
    memory.set_xlabel("seconds")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _rates(samples: list[Moment], name: str) -> tuple[list[float], list[float]]:
    """Return times and rates over five seconds each, because an epoch delivers its rows at once."""
    pairs = list(pairwise(samples[::10]))
    middle = [(before.second + after.second) / 2 for before, after in pairs]
    steps = [
        (getattr(after, name) - getattr(before, name)) / (after.second - before.second)
        for before, after in pairs
    ]
    return middle, steps


def _at_most(rate: int) -> Callable[[int], None]:
    """Return a function that limits the sink to a rate.

    Time since the last call counts as processing time, so that the rate is exact on a slow machine too.
    """
    free = time.monotonic()

    def pause(rows: int) -> None:
        nonlocal free
        time.sleep(max(free - time.monotonic(), 0))
        free = max(free, time.monotonic()) + rows / rate

    return pause


def _watch(spark: Any, sender: Sender, sink: SlowSink, timeout: float = 900) -> Iterator[Moment]:
    """Sample until the burst is over and the sink has caught up."""
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    start = time.monotonic()
    over = sender.load.steady + sender.load.burst
    while (second := time.monotonic() - start) < timeout:
        delivered = len(sink.numbers)
        yield Moment(second, sender.sent, delivered, runtime.totalMemory() - runtime.freeMemory())
        if second > over + 5 and sender.sent - delivered < 5 * sender.load.rate:
            return
        time.sleep(0.5)
    raise SystemExit(f"the sink didn't catch up in {timeout:.0f} s")


def _await_all(sink: SlowSink, sent: int, timeout: float = 120) -> None:
    deadline = time.monotonic() + timeout
    while len(sink.numbers) < sent and time.monotonic() < deadline:
        time.sleep(0.1)


if __name__ == "__main__":
    main()
