"""The nodes of a plan: one small frozen class for each kind of step.

A node names its inputs by `Ref` and its outputs by word; the main output is `""`. Lengths of time are microseconds.
Nodes hold what the user wrote and nothing that Spark knows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from headrace.aggregates import Aggregate as PythonAggregate
from headrace.connectors.base import Connector, WriteMode
from headrace.formats import Format
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Order, Skip, Within
from headrace.schemas.fields import Schema
from headrace.sql.clause import MatchRecognize
from headrace.sql.inputs import Chosen
from headrace.triggers import Emission, LateRows
from headrace.windows import Window

OnError = Literal["fail", "skip", "divert"]
LookupHow = Literal["inner", "left"]

MAIN = ""
FAULTS = "faults"
"""The output of what is wrong with rules that were read while the job ran."""


@dataclass(frozen=True, order=True)
class Ref:
    """One output of one step, printed `step` or `step.output`."""

    step: str
    output: str = MAIN

    def __str__(self) -> str:
        return f"{self.step}.{self.output}" if self.output else self.step


@dataclass(frozen=True, eq=False)
class Opaque:
    """An expression given as a pyspark `Column`: it runs, but can't be printed or compared."""

    column: Any

    def __repr__(self) -> str:
        return f"Column<{self.column}>"


@dataclass(frozen=True, eq=False)
class PythonFold:
    """An aggregate in Python: the arguments of its rows are kept, and folded when a pane fires."""

    aggregate: PythonAggregate

    def __repr__(self) -> str:
        return repr(self.aggregate)


Expression = str | Opaque | PythonFold
Named = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class Node:
    """The base of all nodes."""

    name: str

    verb: ClassVar[str] = ""

    @property
    def stateful(self) -> bool:
        """Whether the step remembers something from one batch to the next."""
        return False

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return (self.input,) if hasattr(self, "input") else ()

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN,)

    @property
    def anonymous(self) -> bool:
        """Whether the name was made up: the user did not give one."""
        return ":" in self.name


@dataclass(frozen=True)
class Source(Node):
    """Reads a connector and decodes its records."""

    connector: Connector
    format: Format | None = None
    schema: Schema | None = None
    on_error: OnError = "divert"
    verb: ClassVar[str] = "read"

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "rejects") if self.connector.carries == "bytes" else (MAIN,)


@dataclass(frozen=True, eq=False)
class FrameSource(Node):
    """A DataFrame that came from outside."""

    frame: Any
    verb: ClassVar[str] = "from_dataframe"


@dataclass(frozen=True)
class EventTime(Node):
    """Says which column is event time and how far the watermark stays behind it."""

    input: Ref
    column: str
    out_of_order: int = 0
    idle: int | None = None
    watermark_when: Expression | None = None
    verb: ClassVar[str] = "event_time"


@dataclass(frozen=True)
class ClockTime(Node):
    """Time by the clock: of the batch that read the row (`ingestion`) or at the step (`processing`)."""

    input: Ref
    clock: Literal["ingestion", "processing"]
    verb: ClassVar[str] = "clock_time"

    @property
    def column(self) -> str:
        return f"{self.clock}_time"


@dataclass(frozen=True)
class Where(Node):
    """Keeps the rows that satisfy a condition."""

    input: Ref
    condition: Expression
    verb: ClassVar[str] = "where"


@dataclass(frozen=True)
class Select(Node):
    """Keeps and computes columns; an unnamed one is Spark SQL text such as `amount * 2 as double`."""

    input: Ref
    columns: Named
    verb: ClassVar[str] = "select"


@dataclass(frozen=True)
class WithColumns(Node):
    """Adds or replaces columns."""

    input: Ref
    columns: Named
    verb: ClassVar[str] = "with_columns"


@dataclass(frozen=True)
class Drop(Node):
    """Removes columns."""

    input: Ref
    columns: tuple[str, ...]
    verb: ClassVar[str] = "drop"


@dataclass(frozen=True)
class Union(Node):
    """All rows of several streams; columns are matched by name."""

    streams: tuple[Ref, ...]
    verb: ClassVar[str] = "union"

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return self.streams


@dataclass(frozen=True)
class Route(Node):
    """Named outputs by condition: a row goes to the first whose condition holds."""

    input: Ref
    branches: Named
    verb: ClassVar[str] = "route"

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.branches)


@dataclass(frozen=True)
class Distinct(Node):
    """Drops rows that repeat the columns `on` of a kept row less than `within` apart."""

    input: Ref
    on: tuple[str, ...]
    within: int | None = None
    verb: ClassVar[str] = "distinct"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late") if self.within is not None else (MAIN,)


@dataclass(frozen=True)
class Lookup(Node):
    """Adds the columns of a table row with the same key."""

    input: Ref
    on: tuple[str, ...]
    table: Connector | Opaque
    format: Format | None = None
    schema: Schema | None = None
    how: LookupHow = "left"
    verb: ClassVar[str] = "lookup"


@dataclass(frozen=True)
class Sql(Node):
    """A Spark SQL query over streams, each under the name that the query gives it."""

    query: str
    tables: tuple[tuple[str, Ref], ...]
    groups: bool = False
    verb: ClassVar[str] = "sql"

    @property
    def stateful(self) -> bool:
        return self.groups

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return tuple(ref for _, ref in self.tables)


@dataclass(frozen=True)
class RowPattern(Node):
    """A query with `MATCH_RECOGNIZE`: the clause over a stream, and the rest of the query over its matches."""

    input: Ref
    table: str
    """What the query calls the stream, and `rest` the matches."""
    query: str
    rest: str
    clause: MatchRecognize
    chosen: Chosen | None = None
    """What the query chooses of the stream before the clause."""
    verb: ClassVar[str] = "match_recognize"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late")


@dataclass(frozen=True)
class Aggregate(Node):
    """A running aggregate: one row for each key, brought up to date with every batch."""

    input: Ref
    keys: Named
    aggregates: Named
    verb: ClassVar[str] = "aggregate"

    @property
    def stateful(self) -> bool:
        return True


@dataclass(frozen=True)
class WindowAggregate(Node):
    """Aggregates of windows."""

    input: Ref
    keys: Named
    window: Window
    emission: Emission
    aggregates: Named
    verb: ClassVar[str] = "window"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late") if self.emission.late_rows == "divert" else (MAIN,)


@dataclass(frozen=True)
class Match(Node):
    """Finds a pattern in the rows of each key. `select` is None for one array of rows for each step."""

    input: Ref
    keys: Named
    pattern: Pattern
    within: Within = field(default_factory=Within)
    skip: Skip = field(default_factory=Skip)
    order: Order = "event_time"
    select: Named | None = None
    late_rows: LateRows = "divert"
    timeouts: LateRows = "divert"
    verb: ClassVar[str] = "match"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, *_diverted(self))

    @property
    def narrow(self) -> bool:
        """Whether nobody sees whole rows, so that only the columns that are looked at are kept."""
        return self.select is not None and not _diverted(self)


@dataclass(frozen=True)
class MatchRules(Node):
    """Finds the patterns of a table of rules, which may change while the job runs, in the rows of each key."""

    input: Ref
    keys: Named
    table: Connector | str
    """A table of a database, or the path of a file."""
    measures: Schema | None = None
    """What matches of all rules give; None for the matched rows."""
    order: Order = "event_time"
    longest: int | None = None
    """The longest `within` that a rule may have."""
    late_rows: LateRows = "divert"
    timeouts: LateRows = "divert"
    verb: ClassVar[str] = "match_rules"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, *_diverted(self), FAULTS)


def _diverted(node: Match | MatchRules) -> tuple[str, ...]:
    """The side outputs of a pattern: those that are only counted are none."""
    said = {"timeouts": node.timeouts, "late": node.late_rows}
    return tuple(output for output, what in said.items() if what == "divert")


@dataclass(frozen=True)
class Sink(Node):
    """Writes a stream to a connector. `mode` is None where the user did not say."""

    input: Ref
    connector: Connector
    mode: WriteMode | None = None
    verb: ClassVar[str] = "write"

    @property
    def outputs(self) -> tuple[str, ...]:
        return ()
