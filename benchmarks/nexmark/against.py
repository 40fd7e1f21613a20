"""The same query by the code of two worktrees, run by run in turn: CPU time before and after a change.

Each side has a JVM of its own for all runs. Only the package is that of the worktree; the benchmark and the
dependencies are those of this one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.nexmark.engines import Headrace, Setting

OURS = Path(__file__).parents[2]
Cost = dict[str, float]
"""CPU seconds of a run: of all processes (`all`), and in the JVM of its tasks and of its JIT compilers."""


def compare_worktrees(servers: str, query: str, options: argparse.Namespace) -> None:
    """Alternate runs of both sides and print their CPU seconds."""
    sides = {"before": options.against.absolute(), "now": OURS}
    words = ["--side", servers, query, "headrace", "--serve", "--memory", options.memory]
    words += ["--events", str(options.events), "--batch", str(options.batch)]
    costs: dict[str, list[Cost]] = {side: [] for side in sides}
    with ExitStack() as stack:
        runs = {side: stack.enter_context(_serving(root, words)) for side, root in sides.items()}
        for number in range(options.warm + options.runs):
            for side in sides:
                cost = next(runs[side])
                if number >= options.warm:
                    costs[side].append(cost)
    sys.stdout.write(f"{query}, {options.events:,} events, CPU seconds of {options.runs} runs in turn\n")
    for part in ("all", "tasks", "jit"):
        before, now = ([cost[part] for cost in costs[side]] for side in sides)
        times = statistics.median(before) / max(statistics.median(now), 0.01)
        sys.stdout.write(f"  {part:>5}: before {before}, now {now}, times {times:.2f}\n")
    sys.stdout.flush()


def serve_runs(setting: Setting, events: int) -> None:
    """Run the query once for each line of the input; print the cost of each run as JSON."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as place:
        for cost in Headrace(setting).costs(events, Path(place), sys.stdin):
            sys.stdout.write(json.dumps(cost) + "\n")
            sys.stdout.flush()


@contextmanager
def _serving(root: Path, words: list[str]) -> Iterator[Iterator[Cost]]:
    """Start a side and yield the costs of its runs; a run starts when its cost is asked for."""
    command = [sys.executable, "-m", "benchmarks", "nexmark", *words]
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{OURS}"}
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as side:
        assert side.stdin is not None
        assert side.stdout is not None
        start, output = side.stdin, side.stdout

        def runs() -> Iterator[Cost]:
            while True:
                start.write("run\n")
                start.flush()
                for line in output:
                    if line.startswith("{"):
                        yield json.loads(line)
                        break
                else:
                    raise SystemExit(f"the side of {root} has ended")

        try:
            yield runs()
        finally:
            start.close()
