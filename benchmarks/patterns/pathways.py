# /// script
# requires-python = ">=3.11"
# dependencies = ["pathway==0.33.0"]
# ///
"""The question in Pathway: an interval join.

A script with an environment of its own (`uv run --script`): Pathway wants an older Arrow than Headrace. It
imports nothing of ours.

Nothing is forgotten, because every pair is asked for: time is one for all partitions in Pathway, the highest
it has seen, and with a cutoff it takes rows of a partition that is read behind the other for late. With a
cutoff of 65 seconds, what Flink's watermark amounts to, it lost 2,170 of 12,166 pairs of 700,000 events. What
it keeps is logins and payments over 90.
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
"""Seconds without an answer after which there are no more."""
PARTITIONS = 2
"""A card's number tells its partition."""


class Watch:
    """How far the engine had come at which moments.

    As far as the answers of a minibatch that it has done with.

    There is an event every millisecond, in the partitions by turns, so the time of the last payment of a
    partition tells how many of its events have been looked at.
    """

    def __init__(self, start: int) -> None:
        """Take the time of the first event of all."""
        self.pairs = 0
        self.looks = [(_now(), 0.0, time.process_time())]
        self._start = start
        self._reached = [0] * PARTITIONS

    def answer(self, key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        """One row of the join; called by Pathway."""
        self.pairs += 1 if is_addition else -1
        partition = int(row["card"][1:]) % PARTITIONS
        self._reached[partition] = max(self._reached[partition], row["pay_at"] - self._start + 1)

    def done(self, at: int) -> None:
        """A minibatch is through; called by Pathway."""
        taken = sum(self._reached) / PARTITIONS
        if taken > self.looks[-1][1]:
            self.looks.append((_now(), taken, time.process_time()))

    def measured(self, warm: int) -> dict[str, float]:
        """From the end of the warm-up to the last answer; between two looks in proportion."""
        end, taken, cpu = self.looks[-1]
        for (before, fewer, spent), (after, more, later) in pairwise(self.looks):
            if fewer <= warm < more:
                share = (warm - fewer) / (more - fewer)
                begin, from_cpu = before + (after - before) * share, spent + (later - spent) * share
                return {"events": round(taken - warm), "seconds": end - begin, "cpu": cpu - from_cpu}
        raise SystemExit(f"{taken:.0f} events were taken, not more than {warm}")


def run(servers: str, topic: str, within: int, watch: Watch) -> None:
    """Ask the question; comes back only if the input ends, which a topic's doesn't."""
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
    pw.io.subscribe(pairs, on_change=watch.answer, on_time_end=watch.done)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


def main() -> None:
    """Print what was measured as a line of JSON."""
    servers, topic, *numbers = sys.argv[1:]
    start, warm, within = map(int, numbers)
    watch = Watch(start)
    asking = threading.Thread(target=run, args=(servers, topic, within, watch), daemon=True)
    asking.start()
    while asking.is_alive() and (not watch.pairs or _now() - watch.looks[-1][0] < QUIET):
        time.sleep(0.2)
    print(json.dumps({**watch.measured(warm), "answers": watch.pairs}), flush=True)
    os._exit(0)  # a running Pathway can't be asked to end


def _now() -> float:
    return time.perf_counter()


if __name__ == "__main__":
    main()
