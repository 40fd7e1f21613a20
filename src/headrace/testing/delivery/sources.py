"""The crash harness for sources: disturb the runs of a small pipeline and count its rows.

A trial feeds three groups of rows to the source, with a run after each. The second run is disturbed: it is
killed after a step of the delivery, or its server fails during an epoch. In the end, the table must have
every row once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from headrace.connectors.base import Connector
from headrace.connectors.failpoints import arm, watch
from headrace.connectors.sqlite import SQLite
from headrace.streams.pipeline import Pipeline
from headrace.testing.delivery.trials import Report, Trial, count_rows, failure

GROUPS = 3
ROWS = 8
STEPS = ("delivery.staged", "delivery.committed")
"""After the rows of an epoch are staged, and after they are committed in the sink but not in Spark."""


@dataclass(frozen=True)
class Feed:
    """An empty source, and how to add rows to it."""

    connector: Connector
    add: Callable[[Sequence[int]], None]
    """Adds rows with these ids; they are durable when it returns."""
    schema: str = "id bigint"
    """Must have the column `id`."""
    format: str | None = None


def check_source(
    feed: Callable[[str], Feed], *, disturbances: Mapping[str, Callable[[Feed], None]] | None = None
) -> Report:
    r"""Run every trial on a source. Runs start Spark or use the session of this process.

    `add` must return only when the rows are durable; otherwise the trial may report lost rows.

    >>> from pathlib import Path
    >>> from headrace import connect
    >>> from headrace.testing import delivery
    >>> def feed(trial: str) -> delivery.Feed:
    ...     directory = Path("in", trial)
    ...     directory.mkdir(parents=True)
    ...     def add(ids: list[int]) -> None:
    ...         (directory / f"{ids[0]}.json").write_text("".join(f'{{"id": {id_}}}\n' for id_ in ids))
    ...     return delivery.Feed(connect.files(path=directory), add, format="json")
    >>> report = delivery.check_source(feed)
    >>> report.kind, len(report.trials), report.lost, report.doubled
    ('files', 4, 0, 0)

    Args:
        feed: creates an empty source for the trial of this name.
        disturbances: further actions in the middle of an epoch, such as a restart of the server. The run may
            continue or fail; the next one must deliver every row once.
    """
    disturb: dict[str, Callable[[_Trial], None]] = {
        "undisturbed": _Trial.run,
        "killed twice": _kill_twice,
    }
    disturb |= {f"killed after {step}": _kill(step) for step in STEPS}
    disturb |= {name: _act_once(act) for name, act in (disturbances or {}).items()}
    kind = ""
    trials: list[Trial] = []
    for name, act in disturb.items():
        with TemporaryDirectory(prefix="headrace-trial-") as directory:
            trial = _Trial(feed(name), Path(directory), f"trial-{len(trials)}")
            kind = trial.feed.connector.kind
            trials.append(trial.execute(name, act))
    return Report(kind, tuple(trials))


@dataclass(frozen=True)
class _Trial:
    feed: Feed
    directory: Path
    pipeline: str

    def run(self) -> None:
        """Read the available rows, resuming from the last run."""
        pipeline = Pipeline(self.pipeline)
        rows = pipeline.read("rows", self.feed.connector, schema=self.feed.schema, format=self.feed.format)
        rows.select("id").write("out", SQLite(path=self.directory / "out.db", table="out"))
        pipeline.run(until="caught_up", checkpoint=self.directory / "checkpoint")

    def execute(self, name: str, disturb: Callable[[_Trial], None]) -> Trial:
        note = ""
        for group in range(GROUPS):
            self.feed.add(range(group * ROWS, (group + 1) * ROWS))
            note = note or failure(lambda: disturb(self) if group == 1 else self.run())  # noqa: B023 - called at once
        return count_rows(name, self._ids(), range(GROUPS * ROWS), note)

    def _ids(self) -> list[int]:
        with closing(sqlite3.connect(self.directory / "out.db")) as database:
            return [row[0] for row in database.execute("SELECT id FROM out")]


def _kill(step: str) -> Callable[[_Trial], None]:
    def act(trial: _Trial) -> None:
        with arm(step), suppress(Exception):  # the error of the killed run is expected
            trial.run()

    return act


def _kill_twice(trial: _Trial) -> None:
    """Kill the same epoch before and after its commit in the sink."""
    for step in STEPS:
        _kill(step)(trial)


def _act_once(act: Callable[[Feed], None]) -> Callable[[_Trial], None]:
    def disturb(trial: _Trial) -> None:
        with _once(lambda: act(trial.feed)), suppress(Exception):
            trial.run()

    return disturb


@contextmanager
def _once(act: Callable[[], None]) -> Iterator[None]:
    """Call a function when rows are staged for the first time."""
    done: list[str] = []

    def hook(step: str) -> None:
        if step == STEPS[0] and not done:
            done.append(step)
            act()

    with watch(hook):
        yield
