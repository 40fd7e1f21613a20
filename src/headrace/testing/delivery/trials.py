"""Results of the crash harness: lost and duplicated rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Trial:
    """The result of one disturbance."""

    name: str
    lost: int
    doubled: int
    note: str = ""

    @property
    def passed(self) -> bool:
        return not (self.lost or self.doubled or self.note)

    def __str__(self) -> str:
        return f"{self.name}: {self.lost} lost, {self.doubled} doubled{self.note and f', {self.note}'}"


@dataclass(frozen=True)
class Report:
    """All trials of one connector."""

    kind: str
    """The kind of the connector."""
    trials: Sequence[Trial] = field(default_factory=tuple)

    @property
    def lost(self) -> int:
        return sum(trial.lost for trial in self.trials)

    @property
    def doubled(self) -> int:
        return sum(trial.doubled for trial in self.trials)

    @property
    def passed(self) -> bool:
        return bool(self.trials) and all(trial.passed for trial in self.trials)

    def __str__(self) -> str:
        lines = "\n".join(f"  {'ok  ' if trial.passed else 'FAIL'} {trial}" for trial in self.trials)
        return (
            f"{self.kind}: {len(self.trials)} trials, {self.lost} rows lost, {self.doubled} doubled\n{lines}"
        )


def count_rows(name: str, seen: Iterable[int], wanted: Iterable[int], note: str = "") -> Trial:
    """Create a trial from the actual and the expected ids.

    >>> str(count_rows("killed", [1, 1, 3], [1, 2, 3]))
    'killed: 1 lost, 1 doubled'
    """
    times = Counter(seen)
    doubled = sum(count - 1 for count in times.values())
    return Trial(name, sum(1 for row in wanted if not times[row]), doubled, note)


def failure(act: Callable[[], None]) -> str:
    """Call a function and return its error as text; empty if it succeeds."""
    try:
        act()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return ""
