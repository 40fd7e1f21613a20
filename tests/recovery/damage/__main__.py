"""`make damage`: apply damages to checkpoints, print their outcomes, and fail on wrong rows and raw errors."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.conftest import shared_session
from tests.recovery.damage.harness import Harness, Outcome, Result
from tests.recovery.damage.kinds import KINDS

OUTCOMES: tuple[Outcome, ...] = ("right rows", "clear error", "WRONG", "raw")


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=210, help="damages over all kinds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", default=sorted(KINDS), choices=sorted(KINDS))
    options = parser.parse_args()
    shared_session()
    results: list[Result] = []
    for name in options.kinds:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, KINDS[name]() as kind:
            harness = Harness(kind, Path(place))
            for result in harness.try_all(options.number // len(options.kinds), options.seed):
                results.append(result)
                print(
                    f"{time.strftime('%X')} {name} {result.state}: {result.damage}: {result.outcome}  {_line(result)}",
                    flush=True,
                )
    show(results)
    return int(any(result.outcome in ("WRONG", "raw") for result in results))


def show(results: list[Result]) -> None:
    """Print the number of each outcome by pipeline and damage."""
    counts = Counter((result.kind, result.damage.kind, result.outcome) for result in results)
    print(f"\n{'pipeline':10} {'damage':10} " + " ".join(f"{outcome:>12}" for outcome in OUTCOMES))
    for kind, damage in sorted({(result.kind, result.damage.kind) for result in results}):
        print(
            f"{kind:10} {damage:10} "
            + " ".join(f"{counts[kind, damage, outcome]:>12}" for outcome in OUTCOMES)
        )
    totals = Counter(result.outcome for result in results)
    print(f"{'all':21} " + " ".join(f"{totals[outcome]:>12}" for outcome in OUTCOMES))


def _line(result: Result) -> str:
    return " | ".join(result.detail.split("\n"))


if __name__ == "__main__":
    sys.exit(main())
