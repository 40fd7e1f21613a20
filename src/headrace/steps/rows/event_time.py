"""The time of rows: a column, or a clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, PlainValidator, WithJsonSchema

from headrace.steps.base import Node, Ref
from headrace.steps.expressions import Expression
from headrace.steps.grammar.model import DocumentModel
from headrace.steps.grammar.problems import expect
from headrace.steps.grammar.step import Inputs, Slot, StepModel
from headrace.steps.grammar.values import Condition, Expected, Length, Text


@dataclass(frozen=True)
class EventTime(Node):
    """Says which column is event time and how far the watermark stays behind it."""

    input: Ref
    column: str
    out_of_order: int = 0
    idle: int | None = None
    watermark_when: Expression | None = None
    max_ahead: int | None = None
    """Rows further ahead of the clock than this are late (`ahead_of_clock`) and do not move the watermark."""
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


class EventTimeOptions(DocumentModel):
    """The value of `event_time` in a document."""

    label = "event_time"
    example = "such as {column: ts, idle: 1 minute}"
    short = "column"
    column: Annotated[Text, Expected("a timestamp column")] = Field(description="A timestamp column")
    out_of_order: Length = Field(default=0, description="How far a row may be behind the newest one")
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
