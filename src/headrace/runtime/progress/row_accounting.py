"""Row accounting of stateful steps.

    rows in + rows held before  =  emitted + in open windows + buffered + late + expired + duplicates +
    dropped + superseded + unmatched

The tasks of the kernel count rows. After each epoch the delivery appends a line of JSON to
`row_accounting.jsonl` beside the checkpoint of the query: the counts of the epoch, and the sums since the
checkpoint was created. A replayed epoch writes its line again, from the sums before it, so that no row is
counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from headrace.checkpoints.journal import append_line, read_lines
from headrace.lowering.counts import VIOLATED_RULE

NAME = "row_accounting.jsonl"

CounterValues = Mapping[str, int]
"""Values of the kernel's counters by name."""

_GAUGES = ("buffered", "open_windows")
"""Counters whose sum is the present number."""

_NAMES_OF_0_2 = {
    "folded": "processed",
    "repeated": "duplicates",
    "placed": "assigned",
    "settled": "emitted",
    "lost": "dropped",
    "forgotten": "expired",
    "dropped": "dropped_matches",
    "pending": "buffered",
}
"""Counters of version 0.2 in files beside a checkpoint."""


@dataclass(frozen=True)
class RowAccounting:
    """The rows of one step in one run.

    A row in several windows counts once in `rows` and once per window in `assigned`.

    >>> counts = {"rows": 10, "processed": 9, "late": 1, "assigned": 9, "emitted": 7}
    >>> accounting = RowAccounting.between({}, counts)
    >>> print(accounting, accounting.balanced)
    10 rows = 7 emitted + 2 in open windows + 1 late True
    """

    rows: int = 0
    """Rows in."""
    processed: int = 0
    """Rows assigned to windows or matched against patterns; for `distinct`, rows passed on."""
    late: int = 0
    """Rows sent to `.late`."""
    duplicates: int = 0
    """Rows removed by `distinct`."""
    superseded: int = 0
    """Rows older than the present row of their key in a table."""
    buffered: int = 0
    """Rows that are stored until the watermark has passed them."""
    assigned: int = 0
    """Assignments of rows to windows."""
    emitted: int = 0
    """Assignments to closed windows that were emitted in a pane."""
    dropped: int = 0
    """Assignments to closed windows that were never emitted; only with `allow_loss`."""
    expired: int = 0
    """Assignments to windows that `ttl` removed before they were emitted."""
    in_open_windows: int = 0
    """Assignments to windows that can still fire."""
    missed: int = 0
    """Sliding windows for which a row was late while other windows accepted it."""
    open_windows: int = 0
    panes: int = 0
    retractions: int = 0
    dropped_matches: int = 0
    """Partial matches of rules that were changed or removed."""
    timed_out: int = 0
    """Partial matches that timed out."""
    unmatched: int = 0
    """Rows without a match in a lookup (dropped, or dead letters) or without a result in a join."""
    in_open_windows_before: int = 0
    """Assignments to windows that were open when the run started."""
    buffered_before: int = 0
    """Rows that were buffered when the run started."""
    violated: Mapping[str, int] = field(default_factory=dict)
    """Rows that violate each rule of `expect`; a row can violate several."""

    @classmethod
    def between(cls, before: CounterValues, now: CounterValues) -> RowAccounting:
        """Return the accounting of the rows that were counted between two sums."""
        changes = {name: n - (0 if name in _GAUGES else before.get(name, 0)) for name, n in now.items()}
        violated = {name: changes.pop(name) for name in [*changes] if name.startswith(VIOLATED_RULE)}
        return cls(
            **changes,
            violated={name.removeprefix(VIOLATED_RULE): rows for name, rows in violated.items()},
            in_open_windows=_in_open_windows(now),
            in_open_windows_before=_in_open_windows(before),
            buffered_before=before.get("buffered", 0),
        )

    @property
    def balanced(self) -> bool:
        """True if every row is accounted for."""
        rows_in, accounted = self.sides
        return rows_in == accounted and min(self.in_open_windows, self.buffered) >= 0

    @property
    def sides(self) -> tuple[int, int]:
        """Both sides of the equation: rows in and held before, and rows that are accounted for."""
        removed = self.late + self.duplicates + self.superseded + self.unmatched
        return self.rows + self.buffered_before, self.processed + removed + self.buffered

    def __str__(self) -> str:
        """Return the equation as one line."""
        one_window_each = self.assigned == self.processed
        held = self.buffered_before + (self.in_open_windows_before if one_window_each else 0)
        windows = [
            ("emitted", self.emitted),
            ("in open windows", self.in_open_windows),
            ("dropped", self.dropped),
            ("expired", self.expired),
        ]
        others = [
            ("buffered", self.buffered),
            ("late", self.late),
            ("duplicates", self.duplicates),
            ("superseded", self.superseded),
            ("unmatched", self.unmatched),
        ]
        rows = f"{count_of(self.rows, 'row')}{_before(held)}"
        rules = [(name, count) for name, count in self.violated.items() if count]
        broken = f", violated {', '.join(f'{name} {count:,}' for name, count in rules)}" if rules else ""
        if one_window_each:
            return f"{rows} = {_sum([*windows, *others])}{broken}"
        parts = [f"{rows} = {_sum([('processed', self.processed), *others])}"]
        if self.assigned or self.in_open_windows_before:
            assigned = f"{count_of(self.assigned, 'assignment')}{_before(self.in_open_windows_before)}"
            parts.append(f"in windows {assigned} = {_sum(windows)}")
        return ", ".join(parts) + broken


class AccountingLog:
    """The row accounting of a step, stored beside the checkpoint of its query."""

    def __init__(self, checkpoint: Path, step: str) -> None:
        self.step = step
        self._file = checkpoint / NAME
        self._sums = {
            int(line["epoch"]): _rename_counters(line["sum"])
            for line in read_lines(self._file)
            if line.get("step", step) == step
        }
        self._before: CounterValues | None = None
        """The sums before the first epoch of the run."""
        self._now: CounterValues = {}

    def add(self, epoch: int, counts: CounterValues) -> None:
        """Add the counts of a delivered epoch."""
        base = self._sums[max(earlier)] if (earlier := [e for e in self._sums if e < epoch]) else {}
        total = {name: base.get(name, 0) + counts.get(name, 0) for name in (*counts, *base)}
        if self._before is None:
            self._before = base
        self._now = total
        self._sums = {e: s for e, s in self._sums.items() if e in (epoch - 1, epoch)} | {epoch: total}
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        changed = {name: n for name, n in counts.items() if n}
        append_line(
            self._file, {"epoch": epoch, "at": at, "step": self.step, "counts": changed, "sum": total}
        )

    def current(self) -> RowAccounting:
        """Return the accounting of this run; before its first epoch, the rows that the last run left held."""
        if self._before is None:
            last = self._sums[max(self._sums)] if self._sums else {}
            return RowAccounting.between(last, last)
        return RowAccounting.between(self._before, self._now)


def count_of(number: int, noun: str) -> str:
    """Return a count with its noun in singular or plural.

    >>> count_of(1, "row"), count_of(1234, "row")
    ('1 row', '1,234 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _in_open_windows(counts: CounterValues) -> int:
    return counts.get("assigned", 0) - sum(counts.get(name, 0) for name in ("emitted", "dropped", "expired"))


def _rename_counters(sums: CounterValues) -> dict[str, int]:
    """Return stored sums with the present names of the counters."""
    if "folded" not in sums:
        return dict(sums)
    renamed = {
        _NAMES_OF_0_2.get(name, name): n for name, n in sums.items() if name not in ("windows", "expired")
    }
    return {**renamed, "open_windows": sums.get("windows", 0) - sums.get("expired", 0)}


def _before(held: int) -> str:
    return f" + {held:,} held before" if held else ""


def _sum(parts: list[tuple[str, int]]) -> str:
    return " + ".join(f"{n:,} {word}" for word, n in parts if n) or "0"
