"""A model of patterns, independent of the kernel.

Not as states, but as the choices of rows that are matches.

Rows of one key are a list in order. A path is the rows taken so far, each as (step, place in the list). An
element goes on from the last of them: `next` to the one after it, `followed_by` to the first that will do,
`followed_by_any` to any that will do. What must not come in between goes along as *bans*: of a
`not_followed_by`, of `until` between two repeats, and after a greedy step of its own rows, because it would
have taken them: until the next row is taken if what follows must come, else, as in Flink, for one row only.
What ends the rounds of a group (its `until`) is banned before all its rows, and after them where its last
step might still go on.

Of alternatives (`Either`) the first row is looked for that may begin one of them; all that it may begin are
tried. A group that might come once more is left, as in Flink, at each row that it passes over: what follows
it looks for its own rows from there on, so the same rows can be found in several ways, and each of them is a
match.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

Path = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Row:
    """A row: its time and its letter."""

    time: int
    letter: str


@dataclass(frozen=True)
class Step:
    """A step that takes rows with one of its letters.

    `until` are letters that end its repeats, none of its own.
    """

    name: str
    verb: str
    letters: str
    least: int = 1
    most: int | None = 1
    optional: bool = False
    repeats: str = "followed_by"
    greedy: bool = False
    until: str = ""
    gap: int | None = None
    """Each repeat is less than this after the row before it; so is the first, unless it may be left out."""

    @property
    def begins(self) -> str:
        """The letters of its first row."""
        return self.letters


@dataclass(frozen=True)
class Group:
    """Steps that are repeated or left out as one; the first of them follows as the group does."""

    name: str
    verb: str
    steps: tuple[Step, ...]
    least: int = 1
    most: int | None = 1
    optional: bool = False
    repeats: str = "followed_by"
    greedy: bool = False
    until: str = ""

    @property
    def begins(self) -> str:
        return self.steps[0].letters


@dataclass(frozen=True)
class Either:
    """Alternatives, each of one or more steps, of which one comes; the first step of each takes one row."""

    name: str
    verb: str
    alternatives: tuple[tuple[Step, ...], ...]
    least: int = 1
    most: int | None = 1
    optional: bool = False
    repeats: str = "followed_by"
    greedy: bool = False
    until: str = ""

    @property
    def begins(self) -> str:
        return "".join(steps[0].letters for steps in self.alternatives)

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(step for steps in self.alternatives for step in steps)


Element = Step | Group | Either


@dataclass(frozen=True)
class Bans:
    """Letters of rows that must not lie before the next row of a match, be it, or come right after the last one."""

    between: str = ""
    itself: str = ""
    at_once: str = ""
    since: int | None = None
    """From which row on they hold, and the next one is looked for; None for the row after the last one
    taken.
    """

    def plus(self, between: str = "", itself: str = "", at_once: str = "") -> Bans:
        return Bans(self.between + between, self.itself + itself, self.at_once + at_once, self.since)


Way = tuple[Path, Bans]
"""A path, and what is banned before its next row."""


def steps_of(elements: Sequence[Element]) -> Iterator[Step]:
    """All steps, those of groups among them."""
    for element in elements:
        yield from (element,) if isinstance(element, Step) else element.steps


@dataclass(frozen=True)
class Model:
    """Return all matches of a pattern, before any skip strategy."""

    elements: tuple[Element, ...]
    rows: tuple[Row, ...]
    within: int | None = None
    between: int | None = None

    def paths(self) -> list[Path]:
        every = self._through(self.elements, ((), Bans()))
        return [path for path, bans in every if path and bans.since is None and self._in_time(path)]

    def _through(self, elements: Sequence[Element], way: Way, inside: str = "") -> Iterator[Way]:
        """The ways through a sequence, from where a way is.

        `inside` are letters that end the group around it.
        """
        if not elements:
            yield way
            return
        head, rest = elements[0], elements[1:]
        for on in self._past(head, rest, way, inside):
            yield from self._through(rest, on, inside)

    def _past(self, element: Element, rest: Sequence[Element], way: Way, inside: str) -> Iterator[Way]:
        """The ways past one element, which `rest` follows."""
        path, bans = way
        if element.verb == "not_followed_by":
            yield path, bans.plus(element.begins)
        elif element.verb == "not_next":
            after = _after(way)
            banned = bans.at_once + element.begins
            if after < len(self.rows) and not self._has(after, banned):
                yield path, bans
        else:
            yield from self._repeat(element, rest, (path, bans.plus(inside, inside)), inside)

    def _repeat(self, element: Element, rest: Sequence[Element], way: Way, inside: str) -> Iterator[Way]:
        following = rest[0].begins if rest and rest[0].verb == "not_followed_by" else ""
        own = _own(element, rest)
        if element.optional or element.least == 0:
            yield way[0], way[1].plus(*own)
        taken = [(way, 0)]
        while taken:
            so_far, times = taken.pop()
            verb = element.verb if times == 0 else element.repeats
            for longer, bans in self._once(element, verb, so_far, times):
                more = element.most is None or times + 1 < element.most
                if times + 1 >= element.least:
                    yield longer, bans.plus(*own).plus(inside if more else "")
                if more and times + 1 >= element.least and isinstance(element, Group):
                    yield from self._leave_later(element, (longer, bans))
                if more:
                    again = bans.plus(element.until + following + inside, inside)
                    taken.append(((longer, again), times + 1))

    def _leave_later(self, group: Group, way: Way) -> Iterator[Way]:
        """The ways out of a group that has passed over rows before another round that it might have begun."""
        path, bans = way
        for place in range(_after(way), len(self.rows) - 1):
            own = group.repeats == "followed_by" and self._has(place, group.begins)
            if group.repeats == "next" or own or self._has(place, group.until):
                return
            yield path, replace(bans, since=place + 1)

    def _once(self, element: Element, verb: str, way: Way, times: int) -> Iterator[Way]:
        path, bans = way
        if isinstance(element, Group):
            first, *others = element.steps
            yield from self._through((replace(first, verb=verb), *others), way, element.until)
            return
        for place in self._places(verb, element.begins, path, bans):
            if isinstance(element, Either):
                yield from self._choose(element, path, place)
            elif self._soon(element, path, place, times):
                yield (*path, (element.name, place)), Bans()

    def _choose(self, either: Either, path: Path, place: int) -> Iterator[Way]:
        """The ways through the alternatives that a row begins."""
        for first, *others in either.alternatives:
            if self._has(place, first.letters):
                yield from self._through(others, ((*path, (first.name, place)), Bans()), either.until)

    def _soon(self, step: Step, path: Path, place: int, times: int) -> bool:
        free = step.gap is None or not path or (times == 0 and (step.optional or step.least == 0))
        return free or self.rows[place].time - self.rows[path[-1][1]].time < (step.gap or 0)

    def _places(self, verb: str, letters: str, path: Path, bans: Bans) -> list[int]:
        after = _after((path, bans))
        fitting = [place for place in range(after, len(self.rows)) if self._has(place, letters)]
        if path and verb == "next":
            fitting = [place for place in fitting if place == after]
        if path and verb == "followed_by":
            fitting = fitting[:1]
        if after < len(self.rows) and self._has(after, bans.at_once):
            return []
        return [
            place
            for place in fitting
            if not self._has(place, bans.itself)
            and not any(self._has(other, bans.between) for other in range(after, place))
        ]

    def _has(self, place: int, letters: str) -> bool:
        return bool(letters) and self.rows[place].letter in letters

    def _in_time(self, path: Path) -> bool:
        times = [self.rows[place].time for _, place in path]
        apart = max((later - earlier for earlier, later in pairwise(times)), default=0)
        whole = self.within is None or times[-1] - times[0] < self.within
        return whole and (self.between is None or apart < self.between)


def _after(way: Way) -> int:
    """The first row that the next one of a match can be."""
    path, bans = way
    if bans.since is not None:
        return bans.since
    return path[-1][1] + 1 if path else 0


def _own(element: Element, rest: Sequence[Element]) -> tuple[str, str, str]:
    """Return the conditions that a greedy step excludes: between rows, on the next row, and right after it."""
    if not isinstance(element, Step) or not element.greedy:
        return "", "", ""
    after = next((item for item in rest if item.verb != "not_followed_by"), None)
    passing = after is not None and (after.verb == "not_next" or after.optional or after.least == 0)
    return ("", "", element.letters) if passing else (element.letters, element.letters, "")


def run_of(all_paths: Sequence[Path], skip: str, step: str = "") -> list[Path]:
    """Apply a skip strategy to all matches.

    They come by their first row, then by their last; of several with the same ones the one comes first that
    takes rows earlier. Each leaves out others that begin before where the search goes on.
    """
    left = sorted(all_paths, key=lambda path: (path[0][1], path[-1][1], [place for _, place in path]))
    actual = []
    while left:
        actual.append(left.pop(0))
        if skip != "none":
            left = [other for other in left if not _is_skipped(other, actual[-1], skip, step)]
    return actual


def is_run(all_paths: list[Path], received: list[Path], skip: str, step: str = "") -> bool:
    """True if the matches, in this order, are those that the skip strategy keeps.

    Matches come by their first row; which of several with the same one comes first is the automaton's
    business.
    """
    left = list(all_paths)
    for path in received:
        if path not in left or path[0][1] != min(other[0][1] for other in left):
            return False
        left.remove(path)
        left = [other for other in left if not _is_skipped(other, path, skip, step)]
    return not left


def _is_skipped(other: Path, match: Path, skip: str, step: str) -> bool:
    own = [place for name, place in match if name == step]
    if skip in ("to_first", "to_last"):
        return bool(own) and other[0][1] < (own[0] if skip == "to_first" else own[-1])
    return other[0][1] <= {"past_last": match[-1][1], "to_next": match[0][1]}[skip]
