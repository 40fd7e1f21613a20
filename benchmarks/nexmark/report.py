"""The table and the chart of the measured queries."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.harness import RESULTS
from benchmarks.nexmark.engines import Outcome

Outcomes = Mapping[str, Mapping[str, Outcome]]
"""Outcomes by query and engine."""


def print_summary(outcomes: Outcomes, engines: Sequence[str], events: int) -> None:
    """Print events/s/core of every query and engine, and how many times faster Headrace is."""
    table = Table(title=f"Nexmark, {events:,} events, thousand events/s/core (ratio by clock)")
    table.add_column("query")
    for engine in engines:
        table.add_column(engine, justify="right")
    for query, measured in outcomes.items():
        ours = measured.get("headrace")
        cells = []
        for engine in engines:
            other = measured.get(engine)
            cells.append(_cell(ours, other, events) if other else "")
        table.add_row(query, *cells)
    table.add_row("geometric mean", *(_mean(outcomes, engine, events) for engine in engines))
    Console(width=120).print(table)


def write_results(outcomes: Outcomes, events: int) -> Path:
    """Write the figures as JSON, and a chart beside it; return the path of the chart."""
    RESULTS.mkdir(exist_ok=True)
    figures = {
        query: {
            engine: {
                "per_core": outcome.per_core(events),
                "rate": outcome.rate(events),
                "jit": outcome.jit_share,
            }
            for engine, outcome in measured.items()
        }
        for query, measured in outcomes.items()
    }
    (RESULTS / "nexmark.json").write_text(json.dumps({"events": events, "queries": figures}, indent=2))
    return _draw(figures, RESULTS / "nexmark.svg")


def _cell(ours: Outcome | None, other: Outcome, events: int) -> str:
    figure = f"{other.per_core(events) / 1000:,.0f}"
    if ours is None or other is ours:
        return figure
    by_cpu = ours.per_core(events) / other.per_core(events)
    return f"{figure}  {by_cpu:.2f} ({ours.rate(events) / other.rate(events):.2f})"


def _mean(outcomes: Outcomes, engine: str, events: int) -> str:
    ratios = [
        measured["headrace"].per_core(events) / measured[engine].per_core(events)
        for measured in outcomes.values()
        if engine != "headrace" and measured.keys() >= {"headrace", engine}
    ]
    return f"{statistics.geometric_mean(ratios):.2f} over {len(ratios)}" if ratios else ""


def _draw(figures: Mapping[str, Mapping[str, Mapping[str, float]]], path: Path) -> Path:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    engines = sorted({engine for measured in figures.values() for engine in measured})
    figure, axes = pyplot.subplots(figsize=(10, 4))
    width = 0.8 / max(len(engines), 1)
    for number, engine in enumerate(engines):
        places = [place + number * width for place in range(len(figures))]
        rates = [measured.get(engine, {}).get("per_core", 0) / 1000 for measured in figures.values()]
        axes.bar(places, rates, width, label=engine)
    axes.set_xticks([place + 0.4 - width / 2 for place in range(len(figures))], list(figures))
    axes.set_ylabel("thousand events/s/core")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
    return path
