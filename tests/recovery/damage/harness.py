"""Damage a checkpoint, run the pipeline to the end of its input, and judge the outcome."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from headrace.errors import HeadraceError
from tests.recovery.damage.damages import Damage, select
from tests.recovery.damage.kinds import Kind, crash_at, run

State = Literal["stopped", "killed"]
Outcome = Literal["right rows", "clear error", "WRONG", "raw"]
_RAW = ("An error occurred while calling", "Traceback", "py4j")


@dataclass(frozen=True)
class Result:
    """The outcome of one damage."""

    kind: str
    state: State
    damage: Damage
    outcome: Outcome
    detail: str = ""


class Harness:
    """Checkpoints of one kind of pipeline, after a stop and after a kill, and the rows of an undisturbed run."""

    def __init__(self, kind: Kind, place: Path, *, until: str = "drained") -> None:
        self.kind = kind
        self._until = until
        self._place = place
        self._work = place / "work"  # always the same path: checkpoints contain it
        for state in ("stopped", "killed"):
            self._prepare(state)
        self._expected = self._run_undisturbed()

    def try_all(self, number: int, seed: int) -> Iterator[Result]:
        """Apply this number of damages, and yield their outcomes."""
        shares: dict[State, int] = {"stopped": number // 2, "killed": number - number // 2}
        for state, share in shares.items():
            selected = select(self.checkpoint(state), 2 * share, seed)  # some change nothing
            results = (self.apply(state, damage, seed) for damage in selected)
            yield from islice(filter(None, results), share)

    def apply(self, state: State, damage: Damage, seed: int = 0) -> Result | None:
        """Damage a file of the checkpoint after a stop or a kill, and run the pipeline to its end.

        Return None if the damage would change nothing, such as an older version of a file that has one only.
        """
        self._restore(state)
        chance = random.Random(f"{seed} {damage}")
        if not damage.apply(self._work / "checkpoint", self._before(state), chance):
            return None
        try:
            self._finish()
        except HeadraceError as error:
            clear = bool(error.where and error.hint) and not any(word in str(error) for word in _RAW)
            return Result(self.kind.name, state, damage, "clear error" if clear else "raw", str(error))
        except Exception as error:
            return Result(self.kind.name, state, damage, "raw", f"{type(error).__name__}: {error}")
        rows = self.kind.results(self._work)
        if rows == self._expected:
            return Result(self.kind.name, state, damage, "right rows")
        return Result(self.kind.name, state, damage, "WRONG", _difference(self._expected, rows))

    def checkpoint(self, state: State) -> Path:
        """Return the checkpoint after a stop or a kill, which damages are applied to copies of."""
        return self._place / state / "checkpoint"

    def _prepare(self, state: str) -> None:
        """Store the directory of a pipeline that has processed two parts of its input, the second one partly."""
        if self._work.exists():
            self._move_aside()
        self._work.mkdir()
        (self._work / "state").write_text(state)
        self.kind.feed(self._work, 0)
        run(self.kind, self._work, until="caught_up")
        shutil.copytree(self._work / "checkpoint", self._before(state))
        self.kind.feed(self._work, 1)
        if state == "stopped":
            run(self.kind, self._work, until="caught_up")
        else:
            # The query of the window is two epochs ahead of that which reads its exchange.
            with crash_at("delivery.committed", 5):
                run(self.kind, self._work, until="caught_up")
        shutil.copytree(self._work, self._place / state)

    def _run_undisturbed(self) -> dict[str, list[str]]:
        actual = {}
        for state in ("stopped", "killed"):
            self._restore(state)
            self._finish()
            actual[state] = self.kind.results(self._work)
        assert actual["stopped"] == actual["killed"], _difference(actual["stopped"], actual["killed"])
        assert all(actual["stopped"].values()), actual["stopped"]
        return actual["stopped"]

    def _restore(self, state: str) -> None:
        # Threads of Spark that maintain state may still write to the directory of the last run.
        self._move_aside()
        shutil.copytree(self._place / state, self._work, dirs_exist_ok=True)

    def _before(self, state: str) -> Path:
        """Return the copy of a checkpoint after the first part of its input."""
        return self._place / f"before {state}"

    def _move_aside(self) -> None:
        used = Path(tempfile.mkdtemp(dir=self._place))
        self._work.rename(used / "work")
        shutil.rmtree(used, ignore_errors=True)

    def _finish(self) -> None:
        self.kind.feed(self._work, 2)
        run(self.kind, self._work, until=self._until)


def _difference(expected: dict[str, list[str]], actual: dict[str, list[str]]) -> str:
    parts = []
    for name, rows in expected.items():
        missing, extra = set(rows) - set(actual.get(name, [])), set(actual.get(name, [])) - set(rows)
        if rows != actual.get(name):
            parts.append(
                f"{name}: {len(actual.get(name, []))} rows, expected {len(rows)}; {len(missing)} missing, {len(extra)} other"
            )
    return "; ".join(parts)
