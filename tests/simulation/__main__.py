"""The command `python -m tests.simulation`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from tests.simulation.histories import POINTS, Outcome, simulate

_CHUNK = 250


@dataclass
class Report:
    """The sum of many histories."""

    histories: int = 0
    epochs: int = 0
    fewest_epochs: int = sys.maxsize
    fewest_sinks: int = sys.maxsize
    without_fault: int = 0
    runs: int = 0
    fenced: int = 0
    refused: int = 0
    seconds: float = 0.0
    """CPU time."""
    injected: Counter[tuple[str, str]] = field(default_factory=Counter)
    violations: list[tuple[int, str]] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Add a history."""
        self.histories += 1
        self.refused += outcome.refused
        self.epochs += outcome.epochs
        if not outcome.refused:
            self.fewest_epochs = min(self.fewest_epochs, outcome.epochs)
        self.fewest_sinks = min(self.fewest_sinks, len(outcome.sinks))
        self.without_fault += not outcome.injected
        self.runs += outcome.runs
        self.fenced += outcome.fenced
        self.injected += outcome.injected
        if outcome.violation:
            self.violations.append((outcome.seed, outcome.violation))

    def merge(self, other: Report) -> None:
        """Add the histories of another report."""
        self.histories += other.histories
        self.epochs += other.epochs
        self.fewest_epochs = min(self.fewest_epochs, other.fewest_epochs)
        self.fewest_sinks = min(self.fewest_sinks, other.fewest_sinks)
        self.without_fault += other.without_fault
        self.runs += other.runs
        self.fenced += other.fenced
        self.refused += other.refused
        self.seconds += other.seconds
        self.injected += other.injected
        self.violations += other.violations

    @property
    def unreached(self) -> list[str]:
        """The fault points at which no fault was injected."""
        reached = {point for point, _ in self.injected}
        return sorted({point for points in POINTS.values() for point in points} - reached)

    def lines(self) -> Iterator[str]:
        """Yield the report as text."""
        kinds = sorted({kind for _, kind in self.injected})
        yield f"{'fault point':28}" + "".join(f"{kind:>18}" for kind in kinds)
        for point in sorted({point for point, _ in self.injected}):
            yield f"{point:28}" + "".join(f"{self.injected[point, kind]:>18,}" for kind in kinds)
        yield ""
        yield f"{self.histories:,} histories, {self.runs:,} runs, {self.epochs:,} epochs, at least"
        yield f"  {self.fewest_epochs} epochs and {self.fewest_sinks} sinks in each; {self.without_fault} without a fault"
        yield f"{self.injected.total():,} faults at {len({point for point, _ in self.injected})} points"
        yield f"{self.fenced:,} runs fenced by a newer one"
        yield f"{self.refused:,} histories ended by a damaged file after a power failure, with right sinks"
        yield f"{len(self.violations)} violations"
        for seed, violation in self.violations[:10]:
            yield f"  seed {seed}: {violation}"


def simulate_all(seeds: Iterable[int]) -> Report:
    """Simulate the histories of some seeds in this process."""
    report, began = Report(), time.process_time()
    for seed in seeds:
        report.add(simulate(seed))
    report.seconds = time.process_time() - began
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--histories", type=int, default=2_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="simulate one history, and print its calls")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    chosen = parser.parse_args(arguments)
    if chosen.seed is not None:
        outcome = simulate(chosen.seed, trace=True)
        print("\n".join(outcome.trace))
        print(f"seed {outcome.seed}: {outcome.violation or 'no violation'}")
        return int(bool(outcome.violation))
    report, began = Report(), time.monotonic()
    last = chosen.first + chosen.histories
    chunks = [range(n, min(n + _CHUNK, last)) for n in range(chosen.first, last, _CHUNK)]
    with ProcessPoolExecutor(chosen.processes) as pool:
        for part in pool.map(simulate_all, chunks):
            report.merge(part)
    seconds = time.monotonic() - began
    print("\n".join(report.lines()))
    rates = (report.histories / spent * 60 for spent in (seconds, report.seconds))
    print("{:,.0f} histories a minute, {:,.0f} a minute of CPU time".format(*rates))
    if report.unreached:
        print(f"fault points that were not reached: {', '.join(report.unreached)}")
    return int(bool(report.violations or report.unreached))


if __name__ == "__main__":
    sys.exit(main())
