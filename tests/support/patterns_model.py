"""What patterns mean, said once more and in another way: not as states, but as the choices of rows that are matches.

Rows of one key are a list in order. A path is the rows taken so far, each as (step, place in the list). An element goes on
from the last of them: `next` to the one after it, `followed_by` to the first that will do, `followed_by_any` to any that
will do. Left out, because their meaning is that of the automaton: `greedy`, `until`, groups, and a `not_followed_by` after
repeats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Path = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Row:
    """A row: its time and its letter."""

    time: int
    letter: str


@dataclass(frozen=True)
class Step:
    """A step that takes rows with one of its letters."""

    name: str
    verb: str
    letters: str
    least: int = 1
    most: int | None = 1
    optional: bool = False
    repeats: str = "followed_by"


@dataclass(frozen=True)
class Model:
    """All matches of steps in rows, whatever a skip would leave out."""

    steps: tuple[Step, ...]
    rows: tuple[Row, ...]
    within: int | None = None

    def paths(self) -> list[Path]:
        every = (path for path in self._from(0, (), "") if path)
        return [path for path in every if self._in_time(path)]

    def _from(self, at: int, path: Path, forbidden: str) -> Iterator[Path]:
        """The ways on from a path, with the steps from `at` on; rows with `forbidden` letters must not lie before the next."""
        if at == len(self.steps):
            yield path
            return
        step = self.steps[at]
        if step.verb == "not_followed_by":
            yield from self._from(at + 1, path, forbidden + step.letters)
        elif step.verb == "not_next":
            after = path[-1][1] + 1
            if after < len(self.rows) and not self._has(after, step.letters):
                yield from self._from(at + 1, path, forbidden)
        else:
            yield from self._taken(at, path, forbidden)

    def _taken(self, at: int, path: Path, forbidden: str) -> Iterator[Path]:
        step = self.steps[at]
        if step.optional or step.least == 0:
            yield from self._from(at + 1, path, forbidden)
        taken = [(path, 0)]
        while taken:
            so_far, times = taken.pop()
            verb = step.verb if times == 0 else step.repeats
            for place in self._places(verb, step.letters, so_far, forbidden if times == 0 else ""):
                longer = (*so_far, (step.name, place))
                if times + 1 >= step.least:
                    yield from self._from(at + 1, longer, "")
                if step.most is None or times + 1 < step.most:
                    taken.append((longer, times + 1))

    def _places(self, verb: str, letters: str, path: Path, forbidden: str) -> list[int]:
        after = path[-1][1] + 1 if path else 0
        fitting = [place for place in range(after, len(self.rows)) if self._has(place, letters)]
        if path and verb == "next":
            fitting = [place for place in fitting if place == after]
        if path and verb == "followed_by":
            fitting = fitting[:1]
        return [
            place
            for place in fitting
            if not any(self._has(other, forbidden) for other in range(after, place))
        ]

    def _has(self, place: int, letters: str) -> bool:
        return bool(letters) and self.rows[place].letter in letters

    def _in_time(self, path: Path) -> bool:
        took = self.rows[path[-1][1]].time - self.rows[path[0][1]].time
        return self.within is None or took < self.within


def is_run(all_paths: list[Path], came: list[Path], skip: str, step: str = "") -> bool:
    """Whether what came, in this order, is what a skip leaves of all matches.

    Matches come by their first row; which of several with the same one comes first is the automaton's business.
    """
    left = list(all_paths)
    for path in came:
        if path not in left or path[0][1] != min(other[0][1] for other in left):
            return False
        left.remove(path)
        left = [other for other in left if not _skipped(other, path, skip, step)]
    return not left


def _skipped(other: Path, match: Path, skip: str, step: str) -> bool:
    own = [place for name, place in match if name == step]
    if skip in ("to_first", "to_last"):
        return bool(own) and other[0][1] < (own[0] if skip == "to_first" else own[-1])
    return other[0][1] <= {"past_last": match[-1][1], "to_next": match[0][1]}[skip]
