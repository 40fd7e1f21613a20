"""What every connector is: one option model, and the reader and writer the engine calls.

A connector is declared by a frozen option model (`Connector`). The same model is what Python users construct
(`connect.files(path=...)`), what a document's `files: {...}` is validated against, and what the reference page and the
forms are made from. It imports no pyspark; `reader()` and `writer()` load the half that does.

How an epoch is delivered, and why every sink shares these four verbs, is told in ARCHITECTURE.md ("Delivery").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, ValidationError

from headrace.errors import OptionError, Problem
from headrace.formats import Format
from headrace.formats.options import option_problems as option_problems
from headrace.schemas.fields import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Role = Literal["source", "sink", "table"]
Carries = Literal["bytes", "rows"]
Guarantee = Literal["at_most_once", "at_least_once", "exactly_once"]
WriteMode = Literal["append", "update", "complete"]


class Connector(BaseModel):
    """The options of one connector; unknown or wrong ones raise `OptionError` with the nearest known word.

    Subclasses set the class variables and describe each option with `Field(description=...)`: the description is the
    option's entry on the reference page.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    kind: ClassVar[str]
    """The word for it in documents and in `connect`."""
    roles: ClassVar[frozenset[Role]]
    delivers: ClassVar[Guarantee] = "at_least_once"
    """The best a sink of this kind can do; meaningless for a pure source."""
    lists: ClassVar[bool] = False
    """Whether it is a table whose rows can be asked for again and again, such as a table of rules."""
    jars: ClassVar[tuple[str, ...]] = ()
    """The sets of jars (`headrace jars list`) that Spark needs for it."""

    if not TYPE_CHECKING:

        def __init__(self, **options: Any) -> None:
            try:
                super().__init__(**options)
            except ValidationError as error:
                problem = option_problems(type(self), error, where=self.kind)[0][1]
                raise OptionError(problem.what, where=problem.where, hint=problem.hint) from None

    def __hash__(self) -> int:
        # Pydantic's own would refuse rows and recipes, which are dicts; equal connectors still hash alike.
        plain = (value for value in self.__dict__.values() if isinstance(value, str | int | float))
        return hash((self.kind, *plain))

    @property
    def replayable(self) -> bool:
        """Whether, after a crash, the same records can be read again from a remembered position."""
        return False

    @property
    def carries(self) -> Carries:
        """`bytes`, to be decoded by a format, or `rows` that have their columns already."""
        return "bytes"

    @property
    def schema_known(self) -> Schema | None:
        """The schema of its rows where the options alone tell it."""
        return None

    @property
    def adds(self) -> tuple[str, ...]:
        """The columns that a source adds to those of the record: the fields of the frame's `__metadata`, if any."""
        return ()

    def with_format(self, chosen: Format | None) -> Connector:
        """The same connector, told the format that its source or lookup names."""
        return self

    @property
    def assumes(self) -> str:
        """What must be true of its data for a source to be replayable; empty where nothing need be."""
        return ""

    @property
    def followed(self) -> bool:
        """Whether its rows come to Spark through Python."""
        return False

    @property
    def counted_in(self) -> tuple[str, ...]:
        """What the positions of a source are positions in, such as a table and its column: elsewhere they mean nothing."""
        return (self.kind,)

    def lost(self, counted_in: Sequence[str]) -> list[str]:
        """Of what positions of a checkpoint were counted in, what a source with these options no longer has."""
        return [one for one in counted_in if one not in self.counted_in]

    @property
    def several_readers(self) -> bool:
        """Whether several queries may read a source side by side."""
        return self.replayable

    def unreadable(self) -> tuple[str, str] | None:
        """Why a source with these options can't be read as a stream, and what to do about it."""
        return None

    def refuses(self, mode: WriteMode) -> str:
        """Why this sink, with these options, can't take rows in that mode; empty where it can."""
        return ""

    def explains(self, failure: str) -> Problem | None:
        """What a failure that Spark tells means, where it comes from this connector's server or client."""
        return None

    def reader(self) -> Reader:
        """The half that reads; loads pyspark."""
        raise OptionError(f"{self.kind} can't be read from", where=self.kind)

    def listing(self) -> Listing:
        """The half that lists all rows now and then, without Spark."""
        raise OptionError(f"the rows of {self.kind} can't be listed", where=self.kind)

    def writer(self) -> Writer:
        """The half that writes, one for each run; loads pyspark."""
        raise OptionError(f"{self.kind} can't be written to", where=self.kind)


@dataclass(frozen=True)
class ReadContext:
    """What a reader is told: whose rows it reads, and what they should look like."""

    pipeline: str
    source: str
    schema: Schema | None
    format: Format | None
    directory: str
    """A directory that lasts as long as the checkpoint, for whatever the reader must remember."""
    real_time: bool = False
    """Whether rows are taken one by one as they come, which only Spark's own sources can."""


class Listing(Protocol):
    """A small table that is looked at again and again, on the driver."""

    def rows(self) -> list[dict[str, str | None]]:
        """All rows as they are now, their values as text.

        Raises:
            SourceError: the table can't be read; it may be asked again later.
        """
        ...

    def close(self) -> None:
        """Let go of the table."""
        ...


class Reader(Protocol):
    """Reads a source.

    A frame of `bytes` has the columns `value binary, partition string, offset bigint`: the record and its position; the
    fields of a struct `__metadata`, if it has one, become columns of the rows. A frame of `rows` has the schema's columns, and may have `__position struct<source, partition, offset>`.
    """

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        """All records from the start, and those to come."""
        ...

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        """All records there are now; also how a lookup table is read."""
        ...

    def close(self) -> None:
        """Let go of whatever `stream` opened; called once the queries that read it have ended."""
        ...


@runtime_checkable
class Acknowledging(Protocol):
    """A reader that tells its server how far the pipeline is."""

    def acknowledge(self, description: str, position: Any) -> None:
        """Everything up to this position is delivered.

        Args:
            description: of the source, as Spark reports it.
            position: the end of the epoch, as Spark reports it.
        """
        ...


@runtime_checkable
class Finite(Protocol):
    """A reader that must be told when a run takes what is there now and ends."""

    def available(self) -> None:
        """From here on nothing newer is there."""
        ...


@dataclass(frozen=True)
class Run:
    """What a writer is told when a run opens it."""

    pipeline: str
    sink: str
    lineage: str
    """The id of the checkpoint: epochs are counted within it. Another lineage starts again at epoch 0."""
    mode: WriteMode
    directory: str


class Staged(Protocol):
    """Rows that are written but can't be seen yet."""

    @property
    def rows(self) -> int:
        """How many."""
        ...


class Writer(Protocol):
    """Delivers epochs to one sink. The engine calls: `open`, then for each epoch `stage` and `commit`, then `close`.

    A writer that delivers exactly once keeps a ledger in its target: for (pipeline, sink) the lineage, the number of the
    run that owns the sink, and the last epoch committed. The ledger row is committed with the rows or not at all.
    """

    def open(self, run: Run) -> int:
        """Take over the sink and return the last epoch committed in this lineage, or -1.

        Taking over raises the run number in the ledger, so that a commit of any older run fails with `FencedError`.
        Whatever an earlier run left half done is completed or removed here.
        """
        ...

    def stage(self, epoch: int, frame: DataFrame) -> Staged:
        """Write the epoch's rows where no reader sees them. May be repeated for the same epoch.

        The frame must be computed exactly once and wholly (no `count` before the write, no `limit`): it may update
        state as it is computed.
        """
        ...

    def commit(self, epoch: int, staged: Staged) -> None:
        """Make the staged rows and the ledger row visible together. Committing a committed epoch does nothing."""
        ...

    def close(self) -> None:
        """Let go of the target; nothing is committed here."""
        ...


@dataclass(frozen=True)
class Counted:
    """The simplest `Staged`: a count, and whatever the writer wants to remember."""

    rows: int
    detail: Mapping[str, Any] = field(default_factory=dict)
