"""Delivery of an epoch to all sinks of its query, exactly once.

An epoch is a micro-batch of one query, numbered by Spark. First all sinks stage their rows, invisible to
readers; then each commits its rows together with a ledger entry. Spark commits the offsets of the epoch after
`foreachBatch` has returned. After an earlier crash Spark replays the epoch with the same number, and sinks
that have it in their ledger are skipped. ARCHITECTURE.md lists every point at which a run can fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.connectors.base import Staged, WriteContext, Writer
from headrace.connectors.failpoints import reach
from headrace.lowering.expressions import drop_hidden
from headrace.runtime.progress.mismatches import Mismatches
from headrace.spark.row_counter import RowCounter
from headrace.steps.base import DEAD_LETTERS, Ref
from headrace.steps.patterns.match_rules import FAULTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.lowering.counts import Counts
    from headrace.lowering.decode import DeadLetters
    from headrace.lowering.dispatch import EpochStep
    from headrace.lowering.lowering import Lowering
    from headrace.rules.reloader import RuleReloader
    from headrace.runtime.progress.row_accounting import AccountingLog


SIDE_OUTPUT_COUNTERS = {"late": "late", "timeouts": "timed_out"}
"""Kernel counters of side outputs; they are complete once another output of the epoch has been computed."""


@dataclass
class SinkBinding:
    """A sink or an exchange that a query writes to."""

    name: str
    ref: Ref
    writer: Writer
    run: WriteContext
    prepare: Callable[[DataFrame, int], DataFrame] = lambda frame, epoch: drop_hidden(frame)
    """Applied to the frame of an epoch before it is written."""
    of_dead_letters: bool = False
    """True if its rows are complete only after all other rows of the epoch have been read."""
    every_epoch: bool = False
    """True if epochs without rows are written as well, such as the watermark markers of an exchange."""
    committed: int = -1
    ledger_epoch: int | None = None
    """The epoch last committed in the sink's ledger; None if it has no ledger."""
    rows: int = 0

    def read_ledger(self) -> None:
        """Take the last epoch from the ledger, which skips epochs without rows."""
        self.ledger_epoch = getattr(self.writer, "ledger_epoch", None)

    @property
    def needs_every_epoch(self) -> bool:
        """True if an epoch without rows must be written."""
        return self.every_epoch or self.run.mode == "complete"


@dataclass
class Delivery:
    """The `foreachBatch` function of one query."""

    lower_batch: Callable[[DataFrame], Lowering]
    """Lowers the stateless steps after the streaming plan over the rows of a micro-batch."""
    sinks: list[SinkBinding]
    dead_letters: Mapping[str, DeadLetters] = field(default_factory=dict)
    functions: list[Ref] = field(default_factory=list)
    """Function steps on the micro-batch whose dead letters are delivered."""
    dead_letter_counts: Mapping[str, int] = field(default_factory=dict)
    """Dead letters of this run by source or function: records or rows that were diverted or skipped."""
    counts: Counts | None = None
    """The kernel's row counters of the query's stateful step."""
    accounting: AccountingLog | None = None
    rules: RuleReloader | None = None
    """The rules of the query's step, if it reads them from a table."""
    held: Mapping[str, EpochStep] = field(default_factory=dict)
    """What stateless steps hold for the query, by step."""
    stateless_logs: dict[str, AccountingLog] = field(default_factory=dict)
    """The row accounting of those that drop or divert rows, from their first epoch on."""
    diverting: frozenset[str] = frozenset()
    """Those of them whose unmatched rows are dead letters."""
    open_log: Callable[[str], AccountingLog] | None = None
    """Opens the row accounting of a step of the query."""
    tap: Callable[[str, DataFrame], DataFrame] = lambda sink, frame: frame
    """Samples the rows of a sink."""
    sync_offsets: Callable[[int], None] = lambda epoch: None
    """Makes the offsets of an epoch durable, which Spark does not do."""
    _lowering: Lowering | None = None
    failure: BaseException | None = None
    """The Python exception that failed an epoch; Spark reports only its text."""
    mismatches: Mismatches = field(default_factory=Mismatches)
    """Mismatches of row accounting in this run."""
    stopping: bool = False
    """Set to end the run between two epochs."""

    @property
    def diverted(self) -> int:
        """The rows of this run that steps without a match or against a rule made dead letters."""
        logs = (log for step, log in self.stateless_logs.items() if step in self.diverting)
        return sum(log.current().unmatched for log in logs)

    def load_rules(self) -> None:
        """Load the rules, if any; raises if a rule is invalid."""
        if self.rules is not None:
            self.rules.begin()

    def open(self) -> None:
        """Open every sink, which fences older runs, and read its last committed epoch."""
        for sink in self.sinks:
            sink.committed = sink.writer.open(sink.run)
            sink.read_ledger()
            reach("delivery.opened")

    def close(self) -> None:
        """Close the rules and every sink."""
        if self.rules is not None:
            self.rules.close()
        for sink in self.sinks:
            sink.writer.close()

    def __call__(self, batch: DataFrame, epoch: int) -> None:
        """Deliver one epoch."""
        if self.stopping:
            raise Stopped
        try:
            if self.rules is not None:  # before the tasks of the epoch are created, which contain the rules
                self.rules.enter(epoch)
                reach("delivery.ruled")
            for step in self.held.values():
                step.enter(epoch)
            self._deliver(batch, epoch)
        except Exception as error:
            self.failure = self.failure or error
            raise
        except BaseException as error:
            self.failure = self.failure or error
            raise RuntimeError(str(error)) from error  # py4j replies to the JVM only on an `Exception`

    def _deliver(self, batch: DataFrame, epoch: int) -> None:
        sinks = [sink for sink in self.sinks if sink.committed < epoch]
        of_rows = [sink for sink in sinks if not sink.of_dead_letters]
        persisted = len(of_rows) > 1
        if persisted:
            batch.persist()
        try:
            staged_rows = self._stage_all(batch, epoch, sinks)
            if staged_rows:  # after a power failure, a committed epoch must be replayed with the same rows
                self.sync_offsets(epoch)
                reach("delivery.synced")
            for sink, staged in staged_rows:
                sink.writer.commit(epoch, staged)
                sink.committed, sink.rows = epoch, sink.rows + staged.rows
                sink.read_ledger()
                reach("delivery.committed")
            if self.accounting is not None and self.counts is not None:
                self.accounting.add(epoch, self.counts.take(epoch))
                current = self.accounting.current()
                self.mismatches.compare(self.accounting.step, epoch, *current.sides)
            self._account_stateless(epoch)
        finally:
            if persisted:
                batch.unpersist()
            if self._lowering is not None:
                self._lowering.release()

    def _account_stateless(self, epoch: int) -> None:
        for name, step in self.held.items():
            if step.counts is not None and self.open_log is not None:
                if name not in self.stateless_logs:
                    self.stateless_logs[name] = self.open_log(name)
                self.stateless_logs[name].add(epoch, step.counts.take(epoch))

    def _stage_all(
        self, batch: DataFrame, epoch: int, sinks: list[SinkBinding]
    ) -> list[tuple[SinkBinding, Staged]]:
        """Stage all sinks before the first commit, so that a failure here leaves nothing visible."""
        for dead_letters in self.dead_letters.values():
            dead_letters.reset()
        of_rows = [sink for sink in sinks if not sink.of_dead_letters]
        if not of_rows:
            consume(batch)
        lowering = self._lowering = self.lower_batch(batch)
        lowering.share([sink.ref for sink in self.sinks if not sink.of_dead_letters], self.functions)
        self._count_again(lowering, epoch)
        staged: list[tuple[SinkBinding, Staged]] = []
        passed: dict[Ref, RowCounter] = {}
        for sink in sorted(of_rows, key=lambda sink: self._counter(sink) is not None):
            if not (staged and self._is_empty(sink, epoch, passed.get(sink.ref))):
                staged.append(self._stage(sink, lowering, epoch, passed))
        for ref in self.functions if len(of_rows) < len(sinks) else ():
            if not lowering.is_lowered(ref):
                consume(lowering.frame(ref))
        # Dead letters are complete now that all rows have been read.
        self._count_dead_letters()
        of_dead_letters = [sink for sink in sinks if sink.of_dead_letters and not self._can_skip(sink)]
        lowering = lowering.with_frames(self.side_frames(batch) if of_dead_letters else {})
        return [*staged, *(self._stage(sink, lowering, epoch, passed) for sink in of_dead_letters)]

    def _count_again(self, lowering: Lowering, epoch: int) -> None:
        """Compute the rows of sinks that have a replayed epoch already, if a step before them counts rows.

        The run that committed the epoch may have failed before it stored the counts.
        """
        skipped = {sink.ref for sink in self.sinks if sink.committed >= epoch and not sink.of_dead_letters}
        frames = [lowering.frame(ref) for ref in skipped]
        if any(step.counts is not None for step in self.held.values()):
            for frame in frames:
                consume(frame)

    def _count_dead_letters(self) -> None:
        """Replace the counts, which other threads read, by those with the present epoch."""
        before = self.dead_letter_counts
        self.dead_letter_counts = {
            step: before.get(step, 0) + dead_letters.count for step, dead_letters in self.dead_letters.items()
        }

    def side_frames(self, batch: DataFrame) -> dict[Ref, DataFrame]:
        """Return the frames of outputs that are collected on the driver: dead letters and faults of rules."""
        frames = {
            Ref(source, DEAD_LETTERS): dead_letters.take()
            for source, dead_letters in self.dead_letters.items()
        }
        if self.rules is not None:
            frames[Ref(self.rules.name, FAULTS)] = self.rules.fault_rows(batch.sparkSession)
        return frames

    def _can_skip(self, sink: SinkBinding) -> bool:
        """True if the epoch has no dead letters; a replayed epoch has none either."""
        if sink.needs_every_epoch or self.rules is not None:
            return False
        return not any(dead_letters.count for dead_letters in self.dead_letters.values())

    def _counter(self, sink: SinkBinding) -> str | None:
        """Return the kernel counter of a sink that writes a side output of the stateful step unchanged."""
        if self.accounting is None or sink.needs_every_epoch:
            return None
        return SIDE_OUTPUT_COUNTERS.get(sink.ref.output) if sink.ref.step == self.accounting.step else None

    def _is_empty(self, sink: SinkBinding, epoch: int, passed: RowCounter | None) -> bool:
        """True if no row was counted for a sink; call after staging another output.

        Rows are counted by an exchange of the same output, `passed`, and by the kernel for a side output.
        """
        if passed is not None and not sink.needs_every_epoch and not passed.rows:
            return True
        name = self._counter(sink)
        return name is not None and self.counts is not None and not self.counts.of(epoch)[name]

    def _stage(
        self, sink: SinkBinding, lowering: Lowering, epoch: int, passed: dict[Ref, RowCounter]
    ) -> tuple[SinkBinding, Staged]:
        rows = lowering.frame(sink.ref)
        if sink.every_epoch:  # an exchange: its watermark markers are not rows of the step
            passed[sink.ref] = counter = RowCounter(rows)
            staged = sink.writer.stage(epoch, sink.prepare(counter.frame, epoch))
        else:
            frame = sink.prepare(rows, epoch)
            counter = RowCounter(self.tap(sink.name, frame))
            staged = sink.writer.stage(epoch, counter.frame)
            self.mismatches.compare(sink.name, epoch, counter.rows, staged.rows)
        reach("delivery.staged")
        return sink, staged


class Stopped(Exception):  # noqa: N818 - not an error: ends a query between two epochs
    """Raised in `foreachBatch` to end a query on a graceful stop."""


def consume(batch: DataFrame) -> None:
    """Compute and discard every row: Spark commits the state of a batch only if all its rows were read."""
    batch.write.format("noop").mode("overwrite").save()
