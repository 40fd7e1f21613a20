"""Run the benchmarks: all (`make bench`), or those named, `python -m benchmarks native_windows decode`.

Options after the names are passed to the benchmark: `python -m benchmarks windows --case sliding`.
"""

from __future__ import annotations

import importlib
import itertools
import sys

from benchmarks.topics import exit_on_sigterm

COMPARISONS = (
    "backpressure",
    "connectors",
    "decode",
    "detect",
    "edge",
    "joins",
    "latency",
    "native_windows",
    "nexmark",
    "patterns",
    "predict",
    "python",
    "windows",
)
"""The benchmarks that `make bench` runs."""
OTHERS = ("epochs", "nab", "startup")
"""Benchmarks that need options or data, or compare with no other engine."""


def main() -> None:
    """Run the named benchmarks, or all."""
    names = list(itertools.takewhile(lambda word: not word.startswith("-"), sys.argv[1:]))
    if names[:1] == ["nab"]:  # the next word is its directory
        names = names[:1]
    del sys.argv[1 : len(names) + 1]  # a benchmark parses the rest
    for name in names or COMPARISONS:
        if name not in (*COMPARISONS, *OTHERS):
            raise SystemExit(f"unknown benchmark `{name}`. Known: {', '.join((*COMPARISONS, *OTHERS))}")
        with exit_on_sigterm():  # a benchmark stops the processes it started
            importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
