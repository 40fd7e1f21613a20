# /// script
# requires-python = ">=3.11"
# dependencies = ["pathway==0.33.0"]
# ///
"""The pattern in Pathway: an interval join.

A script with its own environment (`uv run --script`), because Pathway needs an older Arrow than Headrace. It
imports no module of the project.

All logins and payments over 90 are kept: event time in Pathway is the maximum over all partitions, and with a
cutoff the rows of the partition that is read behind the other are late. With a cutoff of 65 seconds, like
Flink's watermark, 2,170 of 12,166 pairs of 700,000 events were lost.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from itertools import pairwise
from typing import Any

QUIET = 20.0
"""Seconds without a result after which the run is complete."""
PARTITIONS = 2
"""The partition of a card is its number modulo this."""


class Progress:
    """Samples of the events processed at the end of each minibatch.

    There is one event per millisecond, alternating between the partitions, so the time of the last payment of
    a partition determines the number of its processed events.
    """

    def __init__(self, start: int) -> None:
        """Set the time of the first event."""
        self.pairs = 0
        self.samples = [(_now(), 0.0, time.process_time())]
        self._start = start
        self._reached = [0] * PARTITIONS

    def answer(self, key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        """Add a row of the join; called by Pathway."""
        self.pairs += 1 if is_addition else -1
        partition = int(row["card"][1:]) % PARTITIONS
        self._reached[partition] = max(self._reached[partition], row["pay_at"] - self._start + 1)

    def end_minibatch(self, at: int) -> None:
        """Add a sample at the end of a minibatch; called by Pathway."""
        consumed = sum(self._reached) / PARTITIONS
        if consumed > self.samples[-1][1]:
            self.samples.append((_now(), consumed, time.process_time()))

    def measure(self, warm: int) -> dict[str, float]:
        """Return the measurement from the end of the warm-up to the last result, interpolated between samples."""
        end, consumed, cpu = self.samples[-1]
        for (before, fewer, spent), (after, more, later) in pairwise(self.samples):
            if fewer <= warm < more:
                share = (warm - fewer) / (more - fewer)
                begin, from_cpu = before + (after - before) * share, spent + (later - spent) * share
                return {"events": round(consumed - warm), "seconds": end - begin, "cpu": cpu - from_cpu}
        raise SystemExit(f"{consumed:.0f} events were consumed, not more than {warm}")


def run(servers: str, topic: str, within: int, progress: Progress) -> None:
    """Run the join; returns only if the input ends, which a topic does not."""
    import pathway as pw

    class Event(pw.Schema):  # type: ignore[misc]
        card: str
        kind: str
        amount: float
        ts: int

    settings = {
        "bootstrap.servers": servers,
        "group.id": f"pathway-{time.time_ns()}",
        "auto.offset.reset": "earliest",
    }
    events = pw.io.kafka.read(settings, topic=topic, format="json", schema=Event)
    logins = events.filter(pw.this.kind == "login")
    pays = events.filter((pw.this.kind == "pay") & (pw.this.amount > 90))
    pairs = logins.interval_join(
        pays,
        logins.ts,
        pays.ts,
        pw.temporal.interval(1, within - 1),
        logins.card == pays.card,
    ).select(card=pw.left.card, login_at=pw.left.ts, pay_at=pw.right.ts, amount=pw.right.amount)
    pw.io.subscribe(pairs, on_change=progress.answer, on_time_end=progress.end_minibatch)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


def main() -> None:
    """Print the measurement as a line of JSON."""
    servers, topic, *numbers = sys.argv[1:]
    start, warm, within = map(int, numbers)
    progress = Progress(start)
    thread = threading.Thread(target=run, args=(servers, topic, within, progress), daemon=True)
    thread.start()
    while thread.is_alive() and (not progress.pairs or _now() - progress.samples[-1][0] < QUIET):
        time.sleep(0.2)
    print(json.dumps({**progress.measure(warm), "answers": progress.pairs}), flush=True)
    os._exit(0)  # Pathway has no way to stop a run


def _now() -> float:
    return time.perf_counter()


if __name__ == "__main__":
    main()
