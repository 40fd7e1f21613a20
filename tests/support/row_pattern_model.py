"""A model of row patterns: every match of a pattern, the preferred one first.

The kernel follows all ways side by side, one row at a time, and may not look ahead. This looks at one way
after the other over rows that are all there, and takes the first that goes through. They must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import permutations

from headrace.sql.match_recognize.clause import MatchRecognize
from headrace.sql.match_recognize.pattern import (
    Alternatives,
    Anchor,
    Exclusion,
    Pattern,
    Permutation,
    Repeat,
    Sequence,
    Variable,
)

Row = dict[str, int]


@dataclass(frozen=True)
class Match:
    """Rows from `start` on, each with its variable; `hidden` are the places of those in exclusions."""

    rows: list[Row]
    start: int
    labels: tuple[str, ...]
    number: int
    hidden: frozenset[int] = frozenset()

    def values(self, column: str, *labels: str) -> list[int]:
        """The column in the rows of some variables, or in all."""
        taken = enumerate(self.labels, self.start)
        return [self.rows[at][column] for at, label in taken if not labels or label in labels]

    def beside(self, at: int, column: str) -> int | None:
        """The column in the row at a number of the partition."""
        return self.rows[at][column] if 0 <= at < len(self.rows) else None

    @property
    def last(self) -> int:
        return self.start + len(self.labels) - 1

    def up_to(self, size: int) -> Match:
        return Match(self.rows, self.start, self.labels[:size], self.number)


class StuckError(Exception):
    """A skip leads to the row where the match began, or to a variable that it doesn't have."""


Condition = Callable[[Match], bool | None]
Way = tuple[tuple[str, ...], frozenset[int]]


@dataclass
class Model:
    """One partition, searched for the matches of a clause."""

    clause: MatchRecognize
    conditions: dict[str, Condition]
    rows: list[Row]
    matches: list[tuple[Match | None, int]] = field(default_factory=list)
    """Each match, or None for an unmatched row, and the number of the row it begins with."""

    def search(self) -> list[tuple[Match | None, int]]:
        at, number, matched_to = 0, 1, 0
        while at < len(self.rows):
            match = self._preferred(at, number)
            if match is None:
                if at >= matched_to:
                    self.matches.append((None, at))
                at += 1
                continue
            self.matches.append((match, at))
            number += 1
            matched_to = max(matched_to, match.last + 1)
            at = self._next(match) if match.labels else at + 1
        return self.matches

    def _preferred(self, start: int, number: int) -> Match | None:
        limit = len(self.rows)
        if self.clause.within is not None:
            begin = self.rows[start]["ts"]
            over = (i for i in range(start, limit) if self.rows[i]["ts"] - begin >= self.clause.within)
            limit = next(over, limit)
        ways = _Ways(self, start, number, limit).of(self.clause.pattern, (), frozenset())
        way = next(ways, None)
        return None if way is None else Match(self.rows, start, way[0], number, way[1])

    def _next(self, match: Match) -> int:
        if self.clause.skip == "past_last":
            return match.last + 1
        if self.clause.skip == "to_next":
            return match.start + 1
        places = [at for at, label in enumerate(match.labels, match.start) if label in self.clause.skip_to]
        target = places[0 if self.clause.skip == "to_first" else -1] if places else match.start
        if target == match.start:
            raise StuckError
        return target


@dataclass(frozen=True)
class _Ways:
    model: Model
    start: int
    number: int
    limit: int

    def of(self, pattern: Pattern, labels: tuple[str, ...], hidden: frozenset[int]) -> Iterator[Way]:
        match pattern:
            case Variable(name):
                if self._takes((*labels, name)):
                    yield (*labels, name), hidden
            case Anchor(at):
                place = self.start + len(labels)
                if (place == 0 and not labels) if at == "start" else place == len(self.model.rows):
                    yield labels, hidden
            case Sequence(parts):
                yield from self._sequence(parts, labels, hidden)
            case Alternatives(parts):
                for part in parts:
                    yield from self.of(part, labels, hidden)
            case Permutation(parts):
                for order in permutations(parts):
                    yield from self._sequence(order, labels, hidden)
            case Exclusion(inner):
                for more, left in self.of(inner, labels, hidden):
                    yield more, left | set(range(len(labels), len(more)))
            case Repeat():
                yield from self._repeat(pattern, pattern.least, pattern.most, labels, hidden)

    def _sequence(
        self, parts: tuple[Pattern, ...], labels: tuple[str, ...], hidden: frozenset[int]
    ) -> Iterator[Way]:
        if not parts:
            yield labels, hidden
            return
        for more, left in self.of(parts[0], labels, hidden):
            yield from self._sequence(parts[1:], more, left)

    def _repeat(
        self, pattern: Repeat, least: int, most: int | None, labels: tuple[str, ...], hidden: frozenset[int]
    ) -> Iterator[Way]:
        if least == 0 and not pattern.greedy:
            yield labels, hidden
        if most is None or most > 0:
            rest = None if most is None else most - 1
            for more, left in self.of(pattern.of, labels, hidden):
                if most is None and least <= 1 and len(more) == len(labels):
                    yield more, left  # a round that takes no row is the last one
                else:
                    yield from self._repeat(pattern, max(least - 1, 0), rest, more, left)
        if least == 0 and pattern.greedy:
            yield labels, hidden

    def _takes(self, labels: tuple[str, ...]) -> bool:
        if self.start + len(labels) > self.limit:
            return False
        condition = self.model.conditions.get(labels[-1])
        return condition is None or condition(Match(self.model.rows, self.start, labels, self.number)) is True
