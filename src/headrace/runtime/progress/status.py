"""The status of a run and of its queries."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.connectors.base import Reception
from headrace.runtime.progress.delays import Delays
from headrace.runtime.progress.epochs import Percentiles
from headrace.runtime.progress.mismatches import Mismatch
from headrace.runtime.progress.row_accounting import RowAccounting


@dataclass(frozen=True)
class QueryStatus:
    """The last epoch, rows, watermark and state of a query."""

    name: str
    epoch: int = -1
    rows_in: int = 0
    late: int = 0
    """Rows dropped as late by Spark's own operators."""
    watermark: str | None = None
    state_rows: int = 0
    batch_ms: int = 0
    state_bytes: int = 0
    """The largest of the last epochs, because the memory of a state store falls with every snapshot."""
    phases: dict[str, int] = field(default_factory=dict)
    """Duration of each phase of the last batch in milliseconds, as Spark names them."""
    lag: dict[str, int] = field(default_factory=dict)
    """Records that are available but not read, by partition; empty if the sources do not report it."""
    busy_ms: int = 0
    """Duration of all batches of this run in milliseconds."""
    reads: dict[str, int] = field(default_factory=dict)
    """Records of this run by partition, from its second batch on; empty if the sources do not report it."""


@dataclass(frozen=True)
class RulesStatus:
    """The rules of a step: the active versions by id, and the faults of the last read of the table."""

    in_force: dict[str, int]
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Status:
    """The status of a run.

    `late` is the sum over all steps: rows diverted, and rows dropped by Spark's own operators.
    """

    active: bool
    rows_in: int
    rows_out: int
    """Rows written to the sinks of the pipeline; unrouted side outputs are not included."""
    rate: float
    """Rows read per second over the last batches."""
    latency_ms: float | None
    """Median duration of the last batches, from trigger to delivery."""
    watermark: str | None
    late: int
    dead_letters: int = 0
    dead_letters_of: dict[str, int] = field(default_factory=dict)
    """Dead letters of each source and function, whether they are written, stored or skipped."""
    slowest_partition: str | None = None
    """The source partition that determines the watermark, if the source has several."""
    queries: tuple[QueryStatus, ...] = ()
    sinks: dict[str, int] = field(default_factory=dict)
    """Rows written by each sink."""
    ledgers: dict[str, int] = field(default_factory=dict)
    """The epoch last committed in the ledger of each sink that has one, or -1."""
    unrouted: dict[str, int] = field(default_factory=dict)
    """Rows of each side output without a sink, stored as files in the checkpoint directory."""
    steps: dict[str, RowAccounting] = field(default_factory=dict)
    """Row accounting of each stateful step in the kernel."""
    calls: dict[str, dict[str, float]] = field(default_factory=dict)
    """Calls, seconds and errors of each step that runs user code in Python."""
    rules: dict[str, RulesStatus] = field(default_factory=dict)
    """Status of each step that reads its patterns from a table."""
    counted: bool = True
    """True if rows out, late rows and dead letters are counted; in real-time mode they are not."""
    receptions: dict[str, Reception] = field(default_factory=dict)
    """Messages of each source with a write-ahead log: received, stored, dropped, and the backlog."""
    warnings: tuple[str, ...] = ()
    """Warnings about the data, such as an event time far ahead of the clock."""
    latency: Percentiles | None = None
    """Time from ingestion to sink: the duration of the last batches, weighted by rows."""
    delays: Delays = field(default_factory=Delays)
    """Delays of the rows of this run that have an event time."""
    mismatches: tuple[Mismatch, ...] = ()
    """The last mismatches of row accounting."""
    mismatch_count: int = 0
    phase: str = ""
    """The phase before the first epoch, such as "reading"; empty afterwards."""

    @property
    def in_open_windows(self) -> int:
        """Rows in open windows or buffered; a row in several windows counts once per window."""
        return sum(step.in_open_windows + step.buffered for step in self.steps.values())

    @property
    def dropped(self) -> int:
        """Rows of closed windows that were never emitted, because of `allow_loss` or `ttl`."""
        return sum(step.dropped + step.expired for step in self.steps.values())

    def _repr_html_(self) -> str:
        from headrace.runtime.progress.notebook import status_html

        return status_html(self)
