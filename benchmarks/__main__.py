"""`make bench`: every benchmark, or those named: `python -m benchmarks native_windows decode`.

What follows the names as options is for the benchmark: `python -m benchmarks windows --case sliding`.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import sys
from pathlib import Path

from benchmarks.topics import ended_by_sigterm

NOT_BENCHMARKS = {"__main__", "cpu_meter", "engines", "harness", "nowhere", "topics"}


def main() -> None:
    """Run the benchmarks that are named, or all."""
    known = sorted(info.name for info in pkgutil.iter_modules([str(Path(__file__).parent)]))
    named = list(itertools.takewhile(lambda word: not word.startswith("-"), sys.argv[1:]))
    names = named or [name for name in known if name not in NOT_BENCHMARKS]
    del sys.argv[1 : len(named) + 1]  # a benchmark reads options of its own, and the names are not theirs
    for name in names:
        if name not in known:
            raise SystemExit(
                f"there is no benchmark `{name}`. Known: {', '.join(set(known) - NOT_BENCHMARKS)}"
            )
        with ended_by_sigterm():  # what a benchmark has started ends with it
            importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
