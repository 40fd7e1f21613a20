"""Processors: classes with state and timers per key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from headrace.durations import Duration, microseconds, text
from headrace.errors import require_choice
from headrace.functions.reference import UserCode, describe_code, reference_to
from headrace.processors.declaration import Declaration, declaration_of
from headrace.processors.processor import Processor
from headrace.processors.stateful_map import StatefulMap
from headrace.schemas.fields import Schema
from headrace.steps.base import DEAD_LETTERS, MAIN, Plan, Ref
from headrace.steps.code.function_models import ON_ERROR, CodeText
from headrace.steps.code.functions import OnFailure, dead_letter_facts
from headrace.steps.expressions import Named, describe_keys, find_columns, stable_names, stable_texts
from headrace.steps.facts import Facts
from headrace.steps.grammar.model import DocumentModel
from headrace.steps.grammar.step import Inputs, StepModel
from headrace.steps.grammar.values import KeyColumns, Length
from headrace.steps.keyed import KeyedNode
from headrace.steps.traits import RealTimeNote, StateBound, Tier
from headrace.steps.unrouted import note_unrouted


@dataclass(frozen=True)
class Process(KeyedNode):
    """Runs a processor over the rows of each key, in arrival order."""

    code: UserCode
    declaration: Declaration
    on_error: OnFailure = "divert"
    timeout: int | None = None
    """The timeout of a call, in microseconds."""
    verb: ClassVar[str] = "process"

    @property
    def needs_time(self) -> bool:
        return self.declaration.has_event_timers

    @property
    def keyed_code(self) -> Any:
        return self.code.load()

    @property
    def output(self) -> Schema:
        """The columns of the main output."""
        return self.declaration.output

    @property
    def outputs(self) -> tuple[str, ...]:
        sides = [name for name, _ in self.declaration.side_outputs]
        return (MAIN, *sides, *([DEAD_LETTERS] if self.on_error == "divert" else []))

    @property
    def stored_outputs(self) -> tuple[str, ...]:
        return self.outputs[1:]

    def uses_clock(self, *, timed: bool) -> bool:
        """Return True if keys can be due by the clock."""
        return self.declaration.has_clock_timers or (self.declaration.has_ttl and not timed)

    def fires_by_clock(self, facts: Facts) -> bool:
        return facts.by_clock or self.uses_clock(timed=facts.timed)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output == DEAD_LETTERS:
            return dead_letter_facts(inputs[0])
        schema = dict(self.declaration.side_outputs)[output] if output else self.output
        timed, by_clock = inputs[0].timed, inputs[0].by_clock
        return Facts(columns=schema.names, schema=schema, timed=timed, by_clock=by_clock)

    def tier(self, plan: Plan) -> Tier:
        why = f"`{self.code}` runs in Python; rows and state of many keys pass in one Arrow batch"
        return Tier("python", why, f"`{self.code}`")

    def state_bound(self, plan: Plan) -> StateBound:
        keys = self.key_text
        if not self.declaration.has_state:
            return StateBound("nothing")
        if self.declaration.has_ttl:
            return StateBound(f"one entry for each {keys}; values with a ttl expire")
        kept = f"one entry for each {keys}, until its state is empty"
        return StateBound(kept, f"the distinct values of {keys}", "clear state in a timer, or set ttl=")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_unrouted(plan, self)

    def description(self) -> list[str]:
        return [
            str(self.code),
            describe_keys(self.keys),
            self.output.ddl,
            f"each call within {text(self.timeout)}" if self.timeout else "",
            "stops on errors" if self.on_error == "fail" else "",
        ]

    def state_fields(self) -> Mapping[str, Any]:
        return {"keys": stable_names(self.keys)}

    def state_columns(self, columns: Sequence[str]) -> Sequence[str]:
        return find_columns(columns, stable_texts(self.keys))


def process_node(
    name: str,
    ref: Ref,
    keys: Named,
    code: Any,
    *,
    on_error: OnFailure = "divert",
    timeout: Duration | None = None,
) -> Process:
    """Return the node of a processor.

    Raises:
        OptionError: the code is not a processor, or an option has an invalid value.
        SchemaError: the columns of an output are unknown.
        LoadError: the class cannot be imported.
    """
    is_instance = isinstance(code, Processor)
    reference = describe_code(code) if is_instance else reference_to(code, where=f"`{name}`")
    return _build(name, ref, keys, reference, on_error=on_error, timeout=timeout)


def _build(
    name: str, ref: Ref, keys: Named, code: UserCode, *, on_error: OnFailure, timeout: Duration | None
) -> Process:
    where = f"`{name}`"
    require_choice(on_error, OnFailure, "on_error", where)
    limit = None if timeout is None else microseconds(timeout, where=f"{where}: timeout")
    return Process(name, ref, keys, code, declaration_of(code.load(), name=name), on_error, limit)


def stateful_map_node(
    name: str,
    ref: Ref,
    keys: Named,
    f: Any,
    *,
    initial: Any,
    output: Any,
    on_error: OnFailure = "divert",
    timeout: Duration | None = None,
) -> Process:
    """Return the node of a function of state and row."""
    reference = reference_to(f, where=f"`{name}`")
    processor = StatefulMap(reference.load(), initial, output)
    code = UserCode(reference.text, processor, named=False)
    return _build(name, ref, keys, code, on_error=on_error, timeout=timeout)


class ProcessOptions(DocumentModel):
    """The value of `process` in a document."""

    label = "process"
    example = 'such as {python: "spending:Spend"}'
    short = "python"
    code: CodeText = Field(alias="python", description="The Processor class as `module:name`")
    on_error: OnFailure = Field(default="divert", description=ON_ERROR)
    timeout: Length | None = Field(default=None, description="The timeout of a call")


class ProcessModel(StepModel):
    """`process` in a document."""

    node = Process
    key = "process"
    loads_code = True
    keys: KeyColumns = Field(default=(), alias="key_by")
    options: ProcessOptions = Field(
        alias="process", description="Runs a Python class with state and timers over the rows of each key"
    )

    def build(self, name: str, inputs: Inputs) -> Process:
        """Return the node of the step; the class is imported."""
        options = self.options
        timeout = None if options.timeout is None else f"{options.timeout} microseconds"
        return process_node(
            name, inputs.refs[0], self.keys, options.code, on_error=options.on_error, timeout=timeout
        )
