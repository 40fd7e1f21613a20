"""A detector in the kernel, beside the same rule as a processor in Python.

The rule is `z_score`: the distance of a value from the mean of the earlier rows of its key, in standard deviations.
Both sides read the same Parquet files in the same micro-batches, keep state in RocksDB and write Parquet files exactly
once; the means that they expect must be equal. `python -m benchmarks detect --rows 200000`.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.python import ROWS, compare_steps
from headrace import Processor, detectors, state
from headrace.spark.session import open_session

LIMIT, WARM_UP = 3.0, 3


class ZScores(Processor):
    """The rule of `detectors.z_score`, with mean and variance by Welford's method."""

    output = "id bigint, score double, low double, high double, anomalous boolean"
    count: int = state.value(0)
    mean: float = state.value(0.0)
    squares: float = state.value(0.0)

    def process(self, row: Any) -> Iterator[tuple[int, float | None, float | None, float | None, bool]]:
        value, count, mean = row.amount, self.count, self.mean
        if count < WARM_UP:
            yield row.id, None, None, None, False
        else:
            spread = LIMIT * math.sqrt(self.squares / count)
            yield row.id, mean, mean - spread, mean + spread, abs(value - mean) > spread
        self.count = count + 1
        self.mean = mean + (value - mean) / (count + 1)
        self.squares += (value - mean) * (value - self.mean)


def main() -> None:
    """Measure both sides."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=1)
    options = parser.parse_args(sys.argv[1:])
    spark = open_session("benchmarks", conf={"spark.driver.memory": "3g"})
    rule = detectors.z_score(limit=LIMIT)
    with tempfile.TemporaryDirectory() as place:
        compare_steps(
            spark,
            Path(place),
            options,
            kind="detect",
            by_hand={},
            ours=lambda rows: (
                rows.key_by("k")
                .detect("step", rule, on="amount", warm_up=WARM_UP, order="arrival")
                .select("id", "low", "high", "anomalous", score="expected")
            ),
            processor=lambda rows: rows.key_by("k").process("step", ZScores),
        )


if __name__ == "__main__":
    main()
