"""The connector interface: one option model per connector, and the reader and writer that the runtime calls.

A connector is declared by a frozen option model (`Connector`). Python users construct it
(`connect.files(path=...)`), YAML documents are validated against it (`files: {...}`), and reference pages and
forms are generated from it. It imports no pyspark; `reader()` and `writer()` load the modules that do.

ARCHITECTURE.md ("Delivery") describes how an epoch is delivered through the methods of `Writer`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict, ValidationError

from headrace.connectors.retry import find_problem
from headrace.connectors.roles import constructor
from headrace.errors import DeliveryError, OptionError, Problem
from headrace.formats import Format
from headrace.formats.option_problems import first_problem
from headrace.schemas.fields import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.lookups import KeyTable, Listing, LookupContext

Role = Literal["source", "sink", "table"]
Carries = Literal["bytes", "rows"]
Guarantee = Literal["at_most_once", "at_least_once", "exactly_once"]
WriteMode = Literal["append", "update", "changes", "complete"]
Load = Literal["table", "key"]
"""How a lookup reads its table: the whole table, or rows by key."""


DELETED = "__deleted"
"""The column of the frames that an `Upserting` writer gets for a table."""


class Readable:
    """The members that sources and lookup tables share."""

    kind: ClassVar[str]

    @property
    def schema_known(self) -> Schema | None:
        """The schema of the rows, if the options alone determine it."""
        return None

    def input_problem(self) -> tuple[str, str] | None:
        """Return the problem and hint if the input is missing, as far as this machine can see it."""
        return None

    def reader(self) -> Reader:
        """Return the reader; loads pyspark."""
        raise OptionError(f"{self.kind} cannot be read from", where=self.kind)


class Source(Readable):
    """The members of a connector with the role `source`. All but `reader` have defaults.

    `replayable`, `source_guarantee` and `offset_identity` decide on the guarantee of a pipeline and on the
    checkpoints that it can continue.
    """

    has_partitions: ClassVar[bool] = False
    """True if the source has partitions, each with its own record order; positions name the partition."""
    captures_changes: ClassVar[bool] = False
    """True for a CDC source: its rows have the column `change` with the field `op`."""
    driver_side: ClassVar[bool] = False
    """True for a driver-side source: offsets are planned, and rows are read, in Python."""

    @property
    def replayable(self) -> bool:
        """True if the same records can be read again from a stored offset after a crash."""
        return False

    @property
    def source_guarantee(self) -> Guarantee:
        """The guarantee with which a source delivers the messages of its server or clients."""
        return "exactly_once" if self.replayable else "at_most_once"

    @property
    def metadata_columns(self) -> tuple[str, ...]:
        """The columns a source adds to those of the record: the fields of the frame's `__metadata`."""
        return ()

    @property
    def replay_assumption(self) -> str:
        """The condition on the data under which a source is replayable; empty if there is none."""
        return ""

    @property
    def offset_identity(self) -> tuple[str, ...]:
        """The object that offsets refer to, such as table and column; they are invalid for any other."""
        return (self.kind,)

    def missing_identity(self, recorded: Sequence[str]) -> list[str]:
        """Return the offset identities in the checkpoint that this source no longer reads."""
        return [part for part in recorded if part not in self.offset_identity]

    @property
    def concurrent_readers(self) -> bool:
        """True if several queries may read the source at the same time."""
        return self.replayable

    def stream_problem(self) -> tuple[str, str] | None:
        """Return the problem and hint if these options cannot be read as a stream."""
        return None


class Sink:
    """The members of a connector with the role `sink`. All but `writer` have defaults.

    `delivers` is the guarantee of its `Writer`, and `target` what two sinks of a pipeline must not share.
    """

    kind: ClassVar[str]
    delivers: ClassVar[Guarantee] = "at_least_once"
    """The strongest guarantee of a sink of this kind; unused by pure sources."""
    append_only: ClassVar[str] = ""
    """The target of a sink that does not support mode `complete`, such as "a topic"; empty if it does."""

    @property
    def sink_guarantee(self) -> Guarantee:
        """The guarantee of a sink with these options; at most `delivers`."""
        return self.delivers

    @property
    def address_columns(self) -> tuple[str, ...]:
        """The columns of a sink that address or describe a message; by default its value omits them."""
        return ()

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns by which a sink replaces rows; empty if it adds all rows."""
        return tuple(getattr(self, "key", None) or ())

    def target(self) -> str | None:
        """Return the identity of the table or directory a sink writes to; None if sinks may share it.

        Two sinks of one pipeline with the same target are a plan error. The identity holds no password.
        """
        return None

    def mode_problem(self, mode: WriteMode) -> str:
        """Return the reason why this sink cannot write in that mode; empty if it can."""
        if mode == "complete" and self.append_only:
            return f"{self.append_only} cannot be replaced: use mode `update`"
        return ""

    def schema_problem(self, schema: Schema) -> tuple[str, str] | None:
        """Return the problem and hint if this sink cannot write rows of that schema."""
        return None

    def writer(self) -> Writer:
        """Return a new writer, one per run; loads pyspark."""
        raise OptionError(f"{self.kind} cannot be written to", where=self.kind)


class Table(Readable):
    """The members of a connector with the role `table`, which lookups and rules read.

    A table that is loaded as a whole has a `reader`, one that is read by key a `key_table`, and one that
    rules are read from a `listing`.
    """

    listable: ClassVar[bool] = False
    """True if `listing()` returns all rows on demand, as a table of rules needs."""
    loads: ClassVar[frozenset[Load]] = frozenset({"table"})
    """How a lookup can read it, if it has the role `table`."""

    def listing(self) -> Listing:
        """Return the object that lists all rows, without Spark."""
        raise OptionError(f"the rows of {self.kind} cannot be listed", where=self.kind)

    def content_version(self) -> str | None:
        """Return text that changes with the content of a lookup table; None if the content has to be read."""
        return None

    def key_table(self, context: LookupContext) -> KeyTable:
        """Return the table of a lookup by key; connects to its server if the columns are unknown."""
        raise OptionError(f"{self.kind} cannot be read by key", where=self.kind)


ConnectorType = TypeVar("ConnectorType", bound="Connector")


class _InRole:
    """Constructs a connector for one role: `connect.kafka.source(...)` has the options of a source only."""

    def __init__(self, role: Role) -> None:
        self._role = role

    def __get__(self, instance: object, connector: type[ConnectorType]) -> Callable[..., ConnectorType]:
        return constructor(connector, self._role)


class Connector(Source, Sink, Table, BaseModel):
    """The options of one connector; an invalid one raises `OptionError`, with the nearest known name.

    Subclasses set the class variables and describe each option with `Field(description=...)`; the description
    is the option's entry on the reference page. They override members of the roles that they have: those of
    `Source`, `Sink` and `Table`. The members of other roles are not used. A property that does not depend on
    the options is overridden by a class variable.

    >>> from headrace import Connector, connect
    >>> source: Connector = connect.files(path="in/", format="json")
    >>> source.kind
    'files'
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)

    kind: ClassVar[str]
    """The connector's name in documents and in `connect`."""
    roles: ClassVar[frozenset[Role]]
    source: ClassVar[_InRole] = _InRole("source")
    """The constructor with the options of sources."""
    sink: ClassVar[_InRole] = _InRole("sink")
    """The constructor with the options of sinks."""

    @property
    def jars(self) -> tuple[str, ...]:
        """The sets of jars (`headrace jars list`) that Spark needs for it."""
        return ()

    if not TYPE_CHECKING:

        def __init__(self, **options: Any) -> None:
            try:
                super().__init__(**options)
            except ValidationError as error:
                problem = first_problem(type(self), error, where=self.kind)
                raise OptionError.of(problem) from None

    def __hash__(self) -> int:
        # Pydantic's hash fails on options that are dicts; equal connectors still have equal hashes.
        plain = (value for value in self.__dict__.values() if isinstance(value, str | int | float))
        return hash((self.kind, *plain))

    @property
    def carries(self) -> Carries:
        """`bytes` that a format decodes, or `rows` with columns."""
        return "bytes"

    def with_format(self, chosen: Format | None) -> Connector:
        """Return this connector for the format that its source or lookup names."""
        return self

    def explain_failure(self, failure: str) -> Problem | None:
        """Translate the failure of a Spark query, if this connector's server or client caused it.

        By default, return the problem of an error that `connectors/retry.py` made portable.
        """
        problem = find_problem(failure)
        return problem if problem is not None and problem.where else None


@dataclass(frozen=True)
class ReadContext:
    """The pipeline, source, schema and format of a reader in one run."""

    pipeline: str
    source: str
    schema: Schema | None
    format: Format | None
    directory: str
    """A directory for the files of the reader, kept as long as the checkpoint."""
    real_time: bool = False
    """True in real-time mode, which only Spark's own sources support."""


class Reader(Protocol):
    """Reads a source.

    A frame of `bytes` has the columns `value binary, partition string, offset bigint`: the record and its
    position. The fields of a struct `__metadata`, if present, become columns of the rows. A frame of `rows`
    has the columns of the schema and may have `__position struct<source, partition, offset>`.
    """

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        """Return a streaming frame of all records from the start."""
        ...

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        """Return all current records; lookup tables are read this way too."""
        ...

    def close(self) -> None:
        """Release what `stream` opened; called after the queries that read it have ended."""
        ...


@runtime_checkable
class Acknowledging(Protocol):
    """A reader that acknowledges delivered offsets to its server."""

    def acknowledge(self, description: str, end: Any) -> None:
        """Acknowledge everything up to an offset.

        Args:
            description: of the source, as Spark reports it.
            end: the end offset of the epoch, as Spark reports it.
        """
        ...


@dataclass(frozen=True)
class Reception:
    """The messages of a source with a write-ahead log, since its checkpoint began."""

    received: int
    stored: int
    """Messages in the log, acknowledged once they are durable; some of them may have been dropped later."""
    duplicates: int
    """Redeliveries of messages that the log had stored already."""
    dropped: int
    """Messages that no epoch will contain: dropped from or before a full log, or too large."""
    refused: int
    """Messages returned to their sender under backpressure."""
    backlog: int
    """Messages in the log that no committed epoch contains."""


@runtime_checkable
class Receiving(Protocol):
    """A reader that receives messages once and counts them."""

    def reception(self) -> Reception | None:
        """Return the counts; None before the first message can arrive."""
        ...


@dataclass(frozen=True)
class WriteContext:
    """The pipeline, sink, checkpoint and mode of a writer in one run."""

    pipeline: str
    sink: str
    checkpoint_id: str
    """Numbers the epochs: another checkpoint id starts again at epoch 0."""
    mode: WriteMode
    directory: str
    """A directory for the files of the writer, kept as long as the checkpoint; empty if there is none."""


class Staged(Protocol):
    """Rows that are written but not visible yet."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        ...


class Writer(Protocol):
    """Delivers epochs to one sink: `open`, then `stage` and `commit` for each epoch, then `close`.

    A writer that delivers exactly once keeps a ledger in its target (`connectors/ledger.py`). The ledger
    entry is committed together with the rows, or not at all.
    """

    def open(self, context: WriteContext) -> int:
        """Take over the sink and return the epoch last committed under this checkpoint id, or -1.

        Taking over raises the fencing token, so that a commit of any older run fails with `FencedError`. An
        epoch that an earlier run left half committed is completed or removed here.
        """
        ...

    def stage(self, epoch: int, frame: DataFrame) -> Staged:
        """Write the epoch's rows where no reader sees them. May be repeated for the same epoch.

        The frame must be computed exactly once and completely (no `count` before the write, no `limit`):
        computing it may update state.
        """
        ...

    def commit(self, epoch: int, staged: Any) -> None:
        """Make staged rows and ledger entry visible together; do nothing if the epoch is committed.

        Args:
            epoch: its number.
            staged: the result of `stage`.
        """
        ...

    def close(self) -> None:
        """Release the target without committing anything."""
        ...


@runtime_checkable
class Upserting(Protocol):
    """A writer that applies the changes of a table by key.

    The frame of a table then has one row per key and the column `DELETED`: false for the new row of the key,
    true for the last row of a key that was removed.
    """

    @property
    def upsert_key(self) -> tuple[str, ...]:
        """The columns of the key; empty if the changes are appended as rows."""
        ...


@dataclass(frozen=True)
class StagedRows:
    """A simple `Staged`: the number of rows, and their content in the form that the writer commits."""

    rows: int
    content: Any = None


_T = TypeVar("_T")


def require_open(part: _T | None, where: str) -> _T:
    """Return a part of a writer that `open` sets.

    Raises:
        DeliveryError: the writer is not open.
    """
    if part is None:
        raise DeliveryError("the sink is not open", where=where)
    return part
