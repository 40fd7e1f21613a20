# /// script
# requires-python = ">=3.11"
# dependencies = ["pathway==0.33.0"]
# ///
"""The question in Pathway: an interval join.

A script with an environment of its own (`uv run --script`): Pathway wants an older Arrow than Headrace. It imports nothing
of ours.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

QUIET = 10.0
"""Seconds without an answer after which there are no more."""


class Watch:
    """When answers came, by the time of their payment: so far had the engine come."""

    def __init__(self, warm_at: int) -> None:
        """Take the time of the first event that is measured."""
        self.pairs = 0
        self.warmed = self.last = 0.0
        self._warm_at = warm_at

    def answer(self, key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        """One row of the join; called by Pathway."""
        now = _now()
        if not self.warmed and row["pay_at"] >= self._warm_at:
            self.warmed = now
        self.last = now
        self.pairs += 1 if is_addition else -1


def run(servers: str, topic: str, within: int, out_of_order: int, watch: Watch) -> None:
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
        behavior=pw.temporal.common_behavior(cutoff=within + out_of_order),
    ).select(card=pw.left.card, login_at=pw.left.ts, pay_at=pw.right.ts, amount=pw.right.amount)
    pw.io.subscribe(pairs, on_change=watch.answer)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


def main() -> None:
    """Print what was measured as a line of JSON."""
    servers, topic, *numbers = sys.argv[1:]
    events, warm_at, within, out_of_order = map(int, numbers)
    watch = Watch(warm_at)
    threading.Thread(target=run, args=(servers, topic, within, out_of_order, watch), daemon=True).start()
    while not watch.last or _now() - watch.last < QUIET:
        time.sleep(0.2)
    seconds = watch.last - watch.warmed
    print(json.dumps({"events": events, "seconds": seconds, "answers": watch.pairs}), flush=True)
    os._exit(0)  # a running Pathway can't be asked to end


def _now() -> float:
    return time.perf_counter()


if __name__ == "__main__":
    main()
