"""Does a source keep its promise? Runs of a small pipeline are disturbed, and the rows that it delivered are counted.

A trial feeds the source three lots of rows, with a run after each. The second run is disturbed: it dies after a step of its
delivery, or something happens to the source's server while an epoch is under way. Whatever that run did, the rows that a
table holds in the end must be the ones that were fed, each once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from headrace.connectors.base import Connector
from headrace.connectors.failpoints import armed, watched
from headrace.connectors.sqlite import SQLite
from headrace.streams.pipeline import Pipeline
from headrace.testing.delivery.trials import Report, Trial, counted, failure

LOTS = 3
ROWS = 8
STEPS = ("delivery.staged", "delivery.committed")
"""Before an epoch is anywhere, and after it is in the sink but before Spark knows."""


@dataclass(frozen=True)
class Feed:
    """A source with nothing in it yet, and how rows come into it."""

    connector: Connector
    add: Callable[[Sequence[int]], None]
    """Brings rows with these ids into the source, for good when it returns."""
    schema: str = "id bigint"
    """Must have the column `id`."""
    format: str | None = None


def check_source(
    feed: Callable[[str], Feed], *, disturbances: Mapping[str, Callable[[Feed], None]] | None = None
) -> Report:
    r"""Put a source through every trial. Runs start Spark, or use the session of this process.

    A row counts as fed when `add` has returned, so `add` must wait until the source has it for good: what a queue has only
    promised to take looks like a loss.

    >>> from pathlib import Path
    >>> from headrace import connect
    >>> from headrace.testing import delivery
    >>> def feed(trial: str) -> delivery.Feed:
    ...     place = Path("in", trial)
    ...     place.mkdir(parents=True)
    ...     def add(ids: list[int]) -> None:
    ...         (place / f"{ids[0]}.json").write_text("".join(f'{{"id": {one}}}\n' for one in ids))
    ...     return delivery.Feed(connect.files(path=place), add, format="json")
    >>> report = delivery.check_source(feed)
    >>> report.kind, len(report.trials), report.lost, report.doubled
    ('files', 4, 0, 0)

    Args:
        feed: makes a source for a trial, given the trial's name.
        disturbances: more to do to the source in the middle of an epoch, such as restarting its server. A run may go on all
            the same or end with an error; the next one must be right.
    """
    disturbed: dict[str, Callable[[_Trial], None]] = {
        "undisturbed": _Trial.run,
        "killed twice": _killed_twice,
    }
    disturbed |= {f"killed after {step}": _killed(step) for step in STEPS}
    disturbed |= {name: _upset(act) for name, act in (disturbances or {}).items()}
    kind = ""
    trials: list[Trial] = []
    for name, act in disturbed.items():
        with TemporaryDirectory(prefix="headrace-trial-") as place:
            trial = _Trial(feed(name), Path(place), f"trial-{len(trials)}")
            kind = trial.feed.connector.kind
            trials.append(trial.judged(name, act))
    return Report(kind, tuple(trials))


@dataclass(frozen=True)
class _Trial:
    feed: Feed
    place: Path
    pipeline: str

    def run(self) -> None:
        """Take what is there now, and go on where the last run ended."""
        pipeline = Pipeline(self.pipeline)
        rows = pipeline.read("rows", self.feed.connector, schema=self.feed.schema, format=self.feed.format)
        rows.select("id").write("out", SQLite(path=self.place / "out.db", table="out"))
        pipeline.run(once=True, checkpoint=self.place / "checkpoint")

    def judged(self, name: str, disturbed: Callable[[_Trial], None]) -> Trial:
        note = ""
        for lot in range(LOTS):
            self.feed.add(range(lot * ROWS, (lot + 1) * ROWS))
            note = note or failure(lambda: disturbed(self) if lot == 1 else self.run())  # noqa: B023 - called at once
        return counted(name, self._ids(), range(LOTS * ROWS), note)

    def _ids(self) -> list[int]:
        with closing(sqlite3.connect(self.place / "out.db")) as database:
            return [row[0] for row in database.execute("SELECT id FROM out")]


def _killed(step: str) -> Callable[[_Trial], None]:
    def act(trial: _Trial) -> None:
        with armed(step), suppress(Exception):  # what the run says of its death is no concern of ours
            trial.run()

    return act


def _killed_twice(trial: _Trial) -> None:
    """The same epoch dies before it is delivered, and again after."""
    for step in STEPS:
        _killed(step)(trial)


def _upset(act: Callable[[Feed], None]) -> Callable[[_Trial], None]:
    def disturbed(trial: _Trial) -> None:
        with _once(lambda: act(trial.feed)), suppress(Exception):
            trial.run()

    return disturbed


@contextmanager
def _once(act: Callable[[], None]) -> Iterator[None]:
    """Do something the first time that rows are staged."""
    done: list[str] = []

    def hook(step: str) -> None:
        if step == STEPS[0] and not done:
            done.append(step)
            act()

    with watched(hook):
        yield
