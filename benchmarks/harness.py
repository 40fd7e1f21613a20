"""Comparison of contenders on the same input: one warm Spark session, alternating runs, medians and ratios.

Absolute seconds vary on a shared machine, so the report has ratios within one run, by wall time and by the CPU
time of all processes, which other work disturbs less.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.cpu_meter import CpuMeter

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Measured:
    """The runs of one contender: seconds of each, and rows per second at the median."""

    contender: str
    seconds: tuple[float, ...]
    rows: int
    cpu: tuple[float, ...] = ()
    """CPU seconds of each run, over this process and its descendants; empty without `/proc`."""

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def cpu_median(self) -> float:
        return statistics.median(self.cpu) if self.cpu else 0.0

    @property
    def rate(self) -> float:
        return self.rows / self.median


def compare(
    title: str, contenders: Mapping[str, Callable[[], None]], *, rows: int, runs: int = 7, warm_up: int = 2
) -> list[Measured]:
    """Run the contenders in turn, `runs` times each after `warm_up`.

    The first is the baseline.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    cpu: dict[str, list[float]] = {name: [] for name in contenders}
    with Progress(transient=True) as progress, CpuMeter() as meter:
        task = progress.add_task(title, total=(runs + warm_up) * len(contenders))
        for turn in range(runs + warm_up):
            for name, run in contenders.items():
                before = meter.seconds()
                took = _measure_seconds(run)
                if turn >= warm_up:
                    seconds[name].append(took)
                    cpu[name].append(meter.seconds() - before)
                progress.advance(task)
    measured = [Measured(name, tuple(times), rows, tuple(cpu[name])) for name, times in seconds.items()]
    report(title, measured)
    return measured


def report(title: str, measured: list[Measured]) -> None:
    """Print the table; write it with the plot to `benchmarks/results`."""
    base = measured[0]
    table = Table(title=title)
    for heading in ("contender", "rows/s", "median s", "spread s", "times", "CPU s", "times by CPU"):
        table.add_column(heading, justify="left" if heading == "contender" else "right")
    for item in measured:
        spread = f"{min(item.seconds):.2f} - {max(item.seconds):.2f}"
        ratio = f"{base.median / item.median:.2f}"
        cpu = (
            (f"{item.cpu_median:.1f}", f"{base.cpu_median / item.cpu_median:.2f}")
            if item.cpu_median
            else ("", "")
        )
        table.add_row(item.contender, f"{item.rate:,.0f}", f"{item.median:.2f}", spread, ratio, *cpu)
    Console().print(table)
    RESULTS.mkdir(exist_ok=True)
    name = title.lower().replace(" ", "_").replace(",", "")
    (RESULTS / f"{name}.json").write_text(json.dumps([asdict(item) for item in measured], indent=2))
    _plot(title, measured, RESULTS / f"{name}.svg")


def _measure_seconds(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _plot(title: str, measured: list[Measured], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 0.6 * len(measured) + 1.2))
    axes.boxplot(
        [[item.rows / s / 1000 for s in item.seconds] for item in measured],
        orientation="horizontal",
        tick_labels=[item.contender for item in measured],
    )
    axes.set_xlabel("thousand rows/s")
    axes.set_xlim(left=0)
    axes.set_title(title)
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
