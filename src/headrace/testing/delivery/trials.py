"""What disturbances did to a sink or a source: rows lost, rows doubled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Trial:
    """What one disturbance did."""

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
    """The kind of the connector that was tried."""
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
        told = "\n".join(f"  {'ok  ' if trial.passed else 'FAIL'} {trial}" for trial in self.trials)
        return (
            f"{self.kind}: {len(self.trials)} trials, {self.lost} rows lost, {self.doubled} doubled\n{told}"
        )


def counted(name: str, seen: Iterable[int], wanted: Iterable[int], note: str = "") -> Trial:
    """A trial from the ids that were seen and those that should have been.

    >>> str(counted("killed", [1, 1, 3], [1, 2, 3]))
    'killed: 1 lost, 1 doubled'
    """
    times = Counter(seen)
    doubled = sum(count - 1 for count in times.values())
    return Trial(name, sum(1 for one in wanted if not times[one]), doubled, note)


def failure(act: Callable[[], None]) -> str:
    """What went wrong, told in the report: the other trials go on."""
    try:
        act()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return ""
