"""The time of rows: a column, or a clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, PlainValidator, WithJsonSchema

from headrace.durations import text
from headrace.steps.base import Node, Plan, Ref
from headrace.steps.expression_checks import check_expressions
from headrace.steps.expressions import Expression
from headrace.steps.facts import Facts, with_columns
from headrace.steps.grammar.model import DocumentModel
from headrace.steps.grammar.problems import expect
from headrace.steps.grammar.step import Inputs, Slot, StepModel
from headrace.steps.grammar.values import Condition, Expected, Length, Text
from headrace.steps.traits import Blocks, Differs, Finding, RealTimeNote, Tier, unknown_columns

_CLOCKS = {"ingestion": "the batch that read the row", "processing": "the step that uses it"}
_KEYS = ("event_time",)


@dataclass(frozen=True)
class EventTime(Node):
    """Declares the column of event time and the delay of the watermark."""

    input: Ref
    column: str
    out_of_order: int = 0
    idle: int | None = None
    watermark_when: Expression | None = None
    max_ahead: int | None = None
    """Rows further ahead of the clock than this are late (`ahead_of_clock`) and do not move the watermark."""
    verb: ClassVar[str] = "event_time"

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        return replace(inputs[0], timed=True, by_clock=False, time_column=self.column)

    def check(self, plan: Plan) -> Iterator[Finding]:
        facts = plan.facts(self.input)
        yield from check_expressions([self.watermark_when], facts.columns, "event_time")
        yield from unknown_columns((self.column,), facts.columns, "event time", _KEYS)
        if facts.schema is not None and self.column in facts.schema:
            kind = str(facts.schema[self.column].type)
            if not kind.startswith("timestamp"):
                what = f"event time must be a timestamp; `{self.column}` is {kind}"
                yield Finding(what, "convert it with with_columns(...)", _KEYS)
        if facts.change != "none":
            what = "event time cannot be set on rows that later rows replace"
            yield Finding(what, "set it before the aggregate", _KEYS)
        if self.idle is not None and self.idle < 1_000_000:
            what = f"expected idle of a second or more, got {text(self.idle)}"
            yield Finding(what, "a micro-batch takes about a second", _KEYS)

    def tier(self, plan: Plan) -> Tier:
        return Tier("native", "Spark's watermark")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        if self.idle is not None:
            yield Blocks("idle needs heartbeats, which real-time mode does not have")
        yield Differs("the watermark moves once per real-time batch, so long batches delay on-time panes")
        yield Differs("the watermark follows the highest event time over all partitions, not the slowest one")

    def description(self) -> list[str]:
        order = f"up to {text(self.out_of_order)} out of order" if self.out_of_order else "in order"
        when = self.watermark_when
        return [
            f"event time is {self.column}",
            order,
            f"idle after {text(self.idle)}" if self.idle is not None else "",
            f"watermark moved by rows with {when}" if when is not None else "",
            f"at most {text(self.max_ahead)} ahead of the clock" if self.max_ahead is not None else "",
        ]


@dataclass(frozen=True)
class ClockTime(Node):
    """Time of a clock: that of the batch that read the row (`ingestion`), or at the step (`processing`)."""

    input: Ref
    clock: Literal["ingestion", "processing"]
    verb: ClassVar[str] = "clock_time"

    @property
    def column(self) -> str:
        return f"{self.clock}_time"

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        added = with_columns(inputs[0], [self.column])
        return replace(added, timed=True, by_clock=True, time_column=self.column)

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield Blocks("the watermark of a clock needs heartbeats, which real-time mode does not have")

    def description(self) -> list[str]:
        return [f"time is the clock of {_CLOCKS[self.clock]}"]


class EventTimeOptions(DocumentModel):
    """The value of `event_time` in a document."""

    label = "event_time"
    example = "such as {column: ts, idle: 1 minute}"
    short = "column"
    column: Annotated[Text, Expected("a timestamp column")] = Field(description="A timestamp column")
    out_of_order: Length = Field(default=Length(0), description="How far a row may be behind the newest one")
    idle: Length | None = Field(
        default=None, description="After this time without a row the watermark advances with the clock"
    )
    max_ahead: Length | None = Field(
        default=None,
        description="Rows further ahead of the clock than this are late and do not move the watermark",
    )
    watermark_when: Condition | None = Field(
        default=None, description="Only rows that satisfy this condition advance the watermark"
    )


class EventTimeModel(StepModel):
    """`event_time` in a document."""

    node = EventTime
    key = "event_time"
    slot = Slot.TIME
    options: EventTimeOptions = Field(
        alias="event_time", description="The column that is event time, and the watermark"
    )


def _validate_clock(value: Any) -> bool:
    if value not in (None, True, {}):
        raise expect("true or false", "it has no options")
    return True


Clock = Annotated[bool, PlainValidator(_validate_clock), WithJsonSchema({"enum": [True, False, {}, None]})]


class ClockTimeModel(StepModel):
    """The base of `ingestion_time` and `processing_time` in a document."""

    node = ClockTime
    slot = Slot.TIME
    clock: ClassVar[Literal["ingestion", "processing"]]

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True unless the value is `false`."""
        return keys.get(cls.key, False) is not False

    @classmethod
    def represents(cls, node: Node) -> bool:
        """True for nodes with this clock."""
        return isinstance(node, ClockTime) and node.clock == cls.clock

    @classmethod
    def from_values(cls, source: Any) -> Self:
        """Return the model, whose only value is true."""
        return cls.model_validate({cls.key: True})

    def build(self, name: str, inputs: Inputs) -> ClockTime:
        """Return the node of the step."""
        return ClockTime(name, inputs.refs[0], self.clock)


class IngestionTimeModel(ClockTimeModel):
    """`ingestion_time` in a document."""

    key = "ingestion_time"
    clock = "ingestion"
    ingestion_time: Clock = Field(description="Time is the clock of the batch that read the row")


class ProcessingTimeModel(ClockTimeModel):
    """`processing_time` in a document."""

    key = "processing_time"
    clock = "processing"
    processing_time: Clock = Field(description="Time is the clock at the step")
