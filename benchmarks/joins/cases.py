"""The cases, with the sides of each."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.connectors.cases import HEADRACE, PYSPARK
from benchmarks.connectors.setting import Side
from benchmarks.joins import lookups, model, streams
from benchmarks.joins.events import Clicks, Payments, Quotes, Rows, Trades, Views

FLINK = "Flink SQL"
EACH = "one call per row"


@dataclass(frozen=True)
class Sizes:
    """The events of a run, and the keys that they have."""

    warm: int
    events: int
    batch: int
    keys: int


@dataclass(frozen=True)
class JoinCase:
    """One join, done by several engines. The last side is Headrace's."""

    name: str
    title: str
    kinds: tuple[type[Rows], ...]
    default: Sizes
    sides: tuple[Side, ...]
    count: Callable[[int, int], int]
    """Counts the results that a topic of so many rows and keys must have."""
    table: Callable[[int], AbstractContextManager[str]] | None = None
    """Starts the server of a lookup."""

    def side(self, name: str) -> Side:
        return next(side for side in self.sides if side.name == name)

    def given_sizes(self, options: argparse.Namespace) -> Sizes:
        """Return the sizes that the options name, and the defaults of the others."""
        names = ("warm", "events", "batch", "keys")
        chosen: dict[str, Any] = {name: value for name in names if (value := getattr(options, name))}
        if self.table:
            chosen["keys"] = options.keys or options.table
        return replace(self.default, **chosen)

    def sizes(self, side: Side, options: argparse.Namespace) -> Sizes:
        """Return the sizes of a side, which may be measured by a share of the events."""
        sizes = self.given_sizes(options)
        warm, events, batch = (int(size * side.share) for size in (sizes.warm, sizes.events, sizes.batch))
        return replace(sizes, warm=warm, events=events, batch=batch)

    def topics(self, sizes: Sizes) -> list[Rows]:
        """Return the topics: of two, each has half of the events."""
        return [kind(self._rows(sizes), sizes.keys) for kind in self.kinds]

    def expected(self, sizes: Sizes) -> int:
        """Return the number of results, computed by a model."""
        return self.count(self._rows(sizes), sizes.keys)

    def _rows(self, sizes: Sizes) -> int:
        return (sizes.warm + sizes.events) // len(self.kinds)


CASES = (
    JoinCase(
        "interval",
        "views and the clicks of the next 10 minutes",
        (Views, Clicks),
        Sizes(2_000_000, 2_000_000, 500_000, keys=1_000_000),
        (
            Side(PYSPARK, streams.interval_by_hand, aim=1.5),
            Side(FLINK, streams.interval_by_flink, aim=1.0),
            Side(HEADRACE, streams.interval),
        ),
        model.count_pairs,
    ),
    JoinCase(
        "as_of",
        "trades and the last price before each",
        (Trades, Quotes),
        Sizes(2_000_000, 2_000_000, 500_000, keys=10_000),
        (Side(FLINK, streams.as_of_by_flink, aim=1.0), Side(HEADRACE, streams.as_of)),
        model.count_priced,
    ),
    JoinCase(
        "redis",
        "payments and their cards in Redis",
        (Payments,),
        Sizes(500_000, 1_000_000, 500_000, keys=1_000_000),
        (Side(EACH, lookups.each_from_redis, aim=20, share=0.1), Side(HEADRACE, lookups.from_redis)),
        model.count_known,
        lookups.redis,
    ),
    JoinCase(
        "postgres",
        "payments and their cards in PostgreSQL",
        (Payments,),
        Sizes(500_000, 1_000_000, 500_000, keys=1_000_000),
        (Side(EACH, lookups.each_from_postgres, aim=20, share=0.1), Side(HEADRACE, lookups.from_postgres)),
        model.count_known,
        lookups.postgres,
    ),
)
