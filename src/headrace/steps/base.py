"""`Node`, the base of all steps; `Ref`, an output of a step; `Plan`, the plan as seen by its steps."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, Protocol

from headrace.connectors.base import Connector
from headrace.steps.expressions import Opaque
from headrace.steps.facts import Facts, union_facts
from headrace.steps.traits import Finding, RealTimeNote, StateBound, Tier

MAIN = ""
DEAD_LETTERS = "dead_letters"
COLUMN_TIER = Tier("native", "a pyspark Column: native unless it contains a Python function")
"""The tier of a stateless step with a pyspark Column, whose content is unknown before Spark runs it."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
"""The names of pipelines, steps and sinks."""


@dataclass(frozen=True, order=True)
class Ref:
    """One output of one step, printed `step` or `step.output`."""

    step: str
    output: str = MAIN

    def __str__(self) -> str:
        return f"{self.step}.{self.output}" if self.output else self.step


class Plan(Protocol):
    """The part of a plan that steps use: facts about outputs, and upstream and downstream steps."""

    @property
    def consumers(self) -> Mapping[Ref, tuple[Node, ...]]:
        """The steps that read each output."""
        ...

    def facts(self, ref: Ref) -> Facts:
        """Return the facts about an output."""
        ...

    def upstream(self, node: Node) -> list[Node]:
        """Return the steps that a step depends on, itself included, in plan order."""
        ...

    def sinks_of(self, node: Node) -> list[Any]:
        """Return the sinks that depend on a step."""
        ...


@dataclass(frozen=True)
class Node:
    """A step of a plan: its options, and what can be derived from them without Spark.

    Durations are microseconds. The methods describe a stateless expression; subclasses override them.
    """

    name: str

    verb: ClassVar[str] = ""
    accepts_changes: ClassVar[bool] = False
    """True for stateful kinds that accept changelogs: tables, and windows that fire more than once."""
    applies_changes: ClassVar[bool] = False
    """True for stateful kinds that apply the changes of a changelog source by key."""
    finds_patterns: ClassVar[bool] = False
    """True for the kinds that search rows for patterns."""
    is_explained: ClassVar[bool] = False
    """True for the kinds whose module `inspect` explains the results of single rows."""
    state_variable: ClassVar[str] = "matches"
    """The variable of Spark's state that holds the entries of an explained step."""
    emits_panes: ClassVar[bool] = False
    """True for windows, whose rows are panes."""
    row_by_row: ClassVar[bool] = False
    """True for stateless kinds that process each row of one input alone."""
    keeps_labels: ClassVar[bool] = False
    """True for stateless kinds whose rows keep the labels of retractions."""
    drops_rows: ClassVar[bool] = False
    """True for stateless kinds that can drop a row, or return several."""
    sides: ClassVar[tuple[str, ...]] = ()
    """Prefixes of the columns of each input in state signatures, if their names can be equal."""
    duplicate_hint: ClassVar[str] = "rename one of them"
    """The hint of the plan error for two output columns of the same name."""
    time_hint: ClassVar[str] = ""
    """The start of the hint of the plan error for a step whose input has no time."""
    delay_hint: ClassVar[str] = ""
    """The hint of the plan error for a stateful step that reads rows whose delay has no bound."""

    @property
    def stateful(self) -> bool:
        """True if the step keeps state between micro-batches."""
        return False

    @property
    def collects_dead_letters(self) -> bool:
        """True if its dead letters are collected on the driver."""
        return False

    @property
    def needs_time(self) -> bool:
        """True if the rows of its input must have a time."""
        return False

    @property
    def updates(self) -> bool:
        """True if it emits changed rows again, so that its query runs in update or complete mode."""
        return False

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return (self.input,) if hasattr(self, "input") else ()

    @property
    def row_inputs(self) -> tuple[Ref, ...]:
        """The inputs that cannot be the changes of a CDC source if the step is stateful."""
        return self.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN,)

    @property
    def stored_outputs(self) -> tuple[str, ...]:
        """The side outputs that are stored in files if no step reads them."""
        return tuple(output for output in self.outputs if output in ("late", "timeouts", DEAD_LETTERS))

    def leaves_empty(self, output: str, inputs: Sequence[Facts]) -> bool:
        """Return True if a side output can have no rows, so that no sink has to store them."""
        return False

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of its key columns; empty for a step without a key."""
        return tuple(name for name, _ in getattr(self, "keys", ()))

    @property
    def anonymous(self) -> bool:
        """True if the name was generated, because the user has set none."""
        return ":" in self.name

    @property
    def volatile(self) -> bool:
        """True if its tasks read other data than its inputs, which can change during a run."""
        return False

    @property
    def keyed_code(self) -> Any:
        """The code that workers run over the rows of each key, whose calls are counted; None for others."""
        return None

    @property
    def read_connectors(self) -> tuple[Connector, ...]:
        """The connectors that it reads: that of a source, or of a table."""
        values = (getattr(self, name, None) for name in ("connector", "table"))
        return tuple(value for value in values if isinstance(value, Connector))

    def runs_once(self, plan: Plan) -> bool:
        """Return True if it must run in exactly one query, whose rows all consumers read."""
        return self.stateful

    def fires_by_clock(self, facts: Facts) -> bool:
        """Return True if it has processing-time timers, given the facts of its input."""
        return False

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        """Return the facts about an output, derived from those about the inputs."""
        return inputs[0] if len(inputs) == 1 else union_facts(inputs)

    def missing_input(self, ref: Ref) -> Finding | None:
        """Return a specific problem for an input that does not exist; None for the general problem."""
        return None

    def check(self, plan: Plan) -> Iterator[Finding]:
        """Yield the problems that prevent the step from running."""
        yield from ()

    def warnings(self, plan: Plan) -> Iterator[Finding]:
        """Yield advisory messages about a valid step."""
        yield from ()

    def tier(self, plan: Plan) -> Tier:
        """Return the execution tier."""
        if any(isinstance(item, Opaque) for item in _field_values(self)):
            return COLUMN_TIER
        return Tier("native", "a Spark expression")

    def state_bound(self, plan: Plan) -> StateBound | None:
        """Return the bound of its state; None for a step without state."""
        return None

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        """Yield the reasons why real-time mode cannot run the step, and the differences in it."""
        yield from ()

    def description(self) -> list[str]:
        """Describe the step in short phrases, the most important first; empty ones are left out."""
        return []

    def state_fields(self) -> Mapping[str, Any]:
        """Return the fields that its stored state depends on."""
        return {}

    def state_columns(self, columns: Sequence[str]) -> Sequence[str]:
        """Return the input columns whose types the stored state depends on."""
        return columns


def generate_name(after: Ref, verb: str, taken: Container[str]) -> str:
    """Generate a name for a step without one: `tx:where`, then `tx:where:2`.

    >>> generate_name(Ref("tx"), "where", ["tx", "tx:where"])
    'tx:where:2'
    """
    base = f"{after.step.split(':')[0]}:{verb}"
    names = (base if number == 1 else f"{base}:{number}" for number in count(1))
    return next(name for name in names if name not in taken)


def out_of_order(plan: Plan, node: Node) -> int:
    """Return the maximum out-of-orderness of the input of a step, in microseconds."""
    return sum(getattr(step, "out_of_order", 0) for step in plan.upstream(node))


def _field_values(node: Node) -> Iterator[object]:
    for value in vars(node).values():
        yield value
        if isinstance(value, tuple):
            yield from (part for item in value if isinstance(item, tuple) for part in item)
