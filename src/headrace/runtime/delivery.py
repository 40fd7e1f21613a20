"""How an epoch reaches all sinks of its query, each row once.

An epoch is a micro-batch of one query, numbered by Spark. For each epoch every sink stages its rows where nobody sees
them, and when all have, each commits: rows and ledger entry together. Spark forgets the epoch's input only after this
function has returned. A crash before that brings the same epoch again, with the same number; a sink that has it in its
ledger is passed over. ARCHITECTURE.md walks through every place a run can die.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.connectors.base import Staged, WriteContext, Writer
from headrace.connectors.failpoints import reach
from headrace.lowering.expressions import shown
from headrace.plan.queries import DEAD_LETTERS
from headrace.steps.base import Ref
from headrace.steps.patterns.match_rules import FAULTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.lowering.decode import DeadLetters
    from headrace.lowering.lowering import Lowering
    from headrace.lowering.windows import Counts
    from headrace.rules.book import RuleBook
    from headrace.runtime.row_accounting import BalanceLog


COUNTED = {"late": "late", "timeouts": "timed_out"}
"""Side outputs whose rows the kernel counts while it computes the others, by the name of the count."""


@dataclass
class Outlet:
    """One way out of a query: a sink, or a hand-over log."""

    name: str
    ref: Ref
    writer: Writer
    run: WriteContext
    prepare: Callable[[DataFrame, int], DataFrame] = lambda frame, epoch: shown(frame)
    """What is done to the frame just before it is written."""
    of_dead_letters: bool = False
    """Whether its rows are known only when all others have been read."""
    every_epoch: bool = False
    """Whether it takes epochs without rows too, as a hand-over log does for the watermark."""
    committed: int = -1
    rows: int = 0

    @property
    def wants_every_epoch(self) -> bool:
        """Whether an epoch without rows changes something for it too."""
        return self.every_epoch or self.run.mode == "complete"


@dataclass
class Delivery:
    """The `foreachBatch` function of one query."""

    branches: Callable[[DataFrame], Lowering]
    """From a micro-batch to the frames of everything after the trunk's tip."""
    outlets: list[Outlet]
    dead_letters: Mapping[str, DeadLetters] = field(default_factory=dict)
    dead_letter_count: int = 0
    """How many records of this run didn't decode."""
    counts: Counts | None = None
    """Where the kernel counts the rows of the query's stateful step."""
    balance: BalanceLog | None = None
    rules: RuleBook | None = None
    """The rules of the query's step, where it takes them from a table."""
    failure: BaseException | None = None
    """What went wrong in Python; Spark would only pass on its text."""
    draining: bool = False
    """Set to end the run between two epochs."""

    def begin(self) -> None:
        """Take up the rules, if there are any: a run with a wrong one doesn't start."""
        if self.rules is not None:
            self.rules.begin()

    def open(self) -> None:
        """Take over every sink, and learn which epochs they have."""
        for outlet in self.outlets:
            outlet.committed = outlet.writer.open(outlet.run)
            reach("delivery.opened")

    def close(self) -> None:
        """Let go of every sink, whatever one of them says."""
        if self.rules is not None:
            self.rules.close()
        for outlet in self.outlets:
            outlet.writer.close()

    def __call__(self, batch: DataFrame, epoch: int) -> None:
        """Deliver one epoch."""
        if self.draining:
            raise Drained
        try:
            if self.rules is not None:  # before any task of the epoch is made: it takes the rules along
                self.rules.enter(epoch)
                reach("delivery.ruled")
            self._deliver(batch, epoch)
        except Exception as error:
            self.failure = self.failure or error
            raise
        except BaseException as error:
            self.failure = self.failure or error
            raise RuntimeError(str(error)) from error  # the JVM would wait for ever for an answer

    def _deliver(self, batch: DataFrame, epoch: int) -> None:
        outlets = [outlet for outlet in self.outlets if outlet.committed < epoch]
        of_rows = [outlet for outlet in outlets if not outlet.of_dead_letters]
        shared = batch.persist() if len(of_rows) > 1 else batch
        try:
            for outlet, staged in self._staged(
                shared, epoch, of_rows, [o for o in outlets if o not in of_rows]
            ):
                outlet.writer.commit(epoch, staged)
                outlet.committed, outlet.rows = epoch, outlet.rows + staged.rows
                reach("delivery.committed")
            if self.balance is not None and self.counts is not None:
                self.balance.note(epoch, self.counts.take(epoch))
        finally:
            if shared is not batch:
                shared.unpersist()

    def _staged(
        self, batch: DataFrame, epoch: int, of_rows: list[Outlet], of_dead_letters: list[Outlet]
    ) -> list[tuple[Outlet, Staged]]:
        """Stage all before the first commit: what fails here has changed nothing that anybody sees."""
        for dead_letters in self.dead_letters.values():
            dead_letters.reset()
        if not of_rows:
            consume(batch)
        lowering = self.branches(batch)
        staged: list[tuple[Outlet, Staged]] = []
        for outlet in sorted(of_rows, key=lambda outlet: self._counted_as(outlet) is not None):
            if not (staged and self._counted_none(outlet, epoch)):
                staged.append(self._stage(outlet, lowering, epoch))
        # What didn't decode is known only now that the rows have been read. Mostly there is none, and nothing to write.
        self.dead_letter_count += sum(dead_letters.count for dead_letters in self.dead_letters.values())
        of_dead_letters = [outlet for outlet in of_dead_letters if not self._passed_over(outlet)]
        taken = {
            Ref(source, DEAD_LETTERS): dead_letters.take()
            for source, dead_letters in self.dead_letters.items()
            if of_dead_letters
        }
        if of_dead_letters and self.rules is not None:
            taken[Ref(self.rules.name, FAULTS)] = self.rules.fault_rows(batch.sparkSession)
        lowering = lowering.with_frames(taken)
        return [*staged, *(self._stage(outlet, lowering, epoch) for outlet in of_dead_letters)]

    def _passed_over(self, outlet: Outlet) -> bool:
        """Whether a sink of dead letters has nothing to take from this epoch; if the epoch comes again, it hasn't either."""
        if outlet.wants_every_epoch or self.rules is not None:
            return False
        return not any(dead_letters.count for dead_letters in self.dead_letters.values())

    def _counted_as(self, outlet: Outlet) -> str | None:
        """What the kernel calls the rows of a side output that goes straight to a sink."""
        if self.balance is None or outlet.wants_every_epoch:
            return None
        return COUNTED.get(outlet.ref.output) if outlet.ref.step == self.balance.step else None

    def _counted_none(self, outlet: Outlet, epoch: int) -> bool:
        """Whether a side output has no row, which is known once another has been staged: mostly nothing was late."""
        name = self._counted_as(outlet)
        return name is not None and self.counts is not None and not self.counts.of(epoch)[name]

    def _stage(self, outlet: Outlet, lowering: Lowering, epoch: int) -> tuple[Outlet, Staged]:
        staged = outlet.writer.stage(epoch, outlet.prepare(lowering.frame(outlet.ref), epoch))
        reach("delivery.staged")
        return outlet, staged


class Drained(Exception):  # noqa: N818 - not an error: how a run ends between two epochs
    """The run was asked to end, and the last epoch is delivered."""


def consume(batch: DataFrame) -> None:
    """Compute every row and keep none: Spark commits the state of a batch only if all of it was read."""
    batch.write.format("noop").mode("overwrite").save()
