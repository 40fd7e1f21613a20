"""Where every row of a step went, epoch by epoch: no row is ever just gone.

    rows in + held before  =  closed + open + waiting + late + lost + forgotten + repeated

The kernel counts in its tasks. After each epoch the delivery takes the counts and writes a line of JSON to `balance.jsonl`
beside the query's checkpoint: the epoch's own counts, and the sums since the checkpoint was made. An epoch that is run
again writes its line again, over the sums before it, so nothing is counted twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

NAME = "balance.jsonl"
FULL = 4 << 20
"""How long, in bytes, a log may grow before it is put aside and a new one begun; one old one is kept."""

Counts = Mapping[str, int]


@dataclass(frozen=True)
class Balance:
    """The rows of one step in one run. A row that is in several windows counts once in `rows`, and in `placed` for each.

    >>> balance = Balance.of({}, {"rows": 10, "folded": 9, "late": 1, "placed": 9, "settled": 7})
    >>> print(balance, balance.balanced)
    10 rows = 7 closed + 2 open + 1 late True
    """

    rows: int = 0
    """Rows that came in."""
    folded: int = 0
    """Those taken into windows; of `distinct`, those passed on."""
    late: int = 0
    """Those sent to `.late`."""
    repeated: int = 0
    """Those that `distinct` dropped."""
    waiting: int = 0
    """Rows kept for the watermark, now."""
    placed: int = 0
    """Places in windows that were taken."""
    closed: int = 0
    """Places in windows that are over, shown by a pane."""
    lost: int = 0
    """Places in windows that are over, shown by none: only where the trigger may lose rows."""
    forgotten: int = 0
    """Places in windows that were dropped for their age (`ttl`), shown by no pane."""
    open: int = 0
    """Places in windows that are open, now."""
    missed: int = 0
    """Places in sliding windows for which a row was too late, while others took it."""
    windows: int = 0
    """Windows that are open, now."""
    panes: int = 0
    retractions: int = 0
    dropped: int = 0
    """Partial matches of rules that were changed or retired."""
    timed_out: int = 0
    """Partial matches whose time was up."""
    open_before: int = 0
    """Places in windows that were open when the run began."""
    waiting_before: int = 0
    """Rows that waited when the run began."""

    @classmethod
    def of(cls, before: Counts, now: Counts) -> Balance:
        """Between two sums."""

        def came(name: str) -> int:
            return now.get(name, 0) - before.get(name, 0)

        names = (
            "rows",
            "folded",
            "late",
            "repeated",
            "placed",
            "lost",
            "forgotten",
            "missed",
            "panes",
            "retractions",
            "dropped",
            "timed_out",
        )
        return cls(
            **{name: came(name) for name in names},
            closed=came("settled"),
            waiting=now.get("pending", 0),
            open=_open(now),
            windows=now.get("windows", 0) - now.get("expired", 0),
            open_before=_open(before),
            waiting_before=before.get("pending", 0),
        )

    @property
    def balanced(self) -> bool:
        """Whether every row is accounted for."""
        went = self.folded + self.late + self.repeated + self.waiting
        return self.rows + self.waiting_before == went and min(self.open, self.waiting) >= 0

    def __str__(self) -> str:
        """One line: what came in, and where it went."""
        once = self.placed == self.folded
        held = self.waiting_before + (self.open_before if once else 0)
        came = f"{self.rows:,} rows" + (f" + {held:,} from before" if held else "")
        places = [
            ("closed", self.closed),
            ("open", self.open),
            ("lost", self.lost),
            ("forgotten", self.forgotten),
        ]
        went = [("waiting", self.waiting), ("late", self.late), ("repeated", self.repeated)]
        if once:
            return f"{came} = {_sum([*places, *went])}"
        windows = f"{self.placed:,} places" + (
            f" + {self.open_before:,} from before" if self.open_before else ""
        )
        parts = [f"{came} = {_sum([('taken', self.folded), *went])}"]
        if self.placed or self.open_before:
            parts.append(f"in windows {windows} = {_sum(places)}")
        return ", ".join(parts)


class BalanceLog:
    """The balance of one query's step, kept in a file beside its checkpoint."""

    def __init__(self, directory: Path, step: str) -> None:
        self.step = step
        self._file = directory / NAME
        self._sums = {int(line["epoch"]): dict(line["sum"]) for line in lines_of(self._file)}
        self._before: Counts | None = None
        """The sums when the run began: those before its first epoch."""
        self._now: Counts = {}

    def note(self, epoch: int, counts: Counts) -> None:
        """An epoch has been delivered; `counts` are its own."""
        base = self._sums[max(earlier)] if (earlier := [e for e in self._sums if e < epoch]) else {}
        total = {name: base.get(name, 0) + counts.get(name, 0) for name in (*counts, *base)}
        if self._before is None:
            self._before = base
        self._now = total
        self._sums = {e: s for e, s in self._sums.items() if e in (epoch - 1, epoch)} | {epoch: total}
        self._write({"epoch": epoch, "at": _now(), "step": self.step, "counts": _short(counts), "sum": total})

    def balance(self) -> Balance:
        """Of this run so far."""
        if self._before is None:  # nothing yet: what the last run left
            last = self._sums[max(self._sums)] if self._sums else {}
            return Balance.of(last, last)
        return Balance.of(self._before, self._now)

    def _write(self, line: Mapping[str, object]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        if self._file.exists() and self._file.stat().st_size > FULL:
            self._file.replace(_aside(self._file))
        with self._file.open("a") as log:
            log.write(json.dumps(line) + "\n")


def lines_of(file: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log and of the one that was put aside before it, oldest first; half a line is none."""
    for part in (_aside(file), file):
        for line in part.read_text().splitlines() if part.exists() else ():
            try:
                yield json.loads(line)
            except ValueError:  # the run died while writing it; the epoch is run again
                continue


def _aside(file: Path) -> Path:
    return file.with_suffix(".1.jsonl")


def _open(counts: Counts) -> int:
    return (
        counts.get("placed", 0)
        - counts.get("settled", 0)
        - counts.get("lost", 0)
        - counts.get("forgotten", 0)
    )


def _short(counts: Counts) -> dict[str, int]:
    return {name: n for name, n in counts.items() if n}


def _sum(parts: list[tuple[str, int]]) -> str:
    said = [f"{n:,} {word}" for word, n in parts if n]
    return " + ".join(said) or "0"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
