"""Functions over rows and batches: `map`, `flat_map`, `filter` and `map_batches`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from headrace.durations import Duration, microseconds, text
from headrace.errors import OptionError, require_choice
from headrace.functions.calls import is_async
from headrace.functions.failures import REASON, TRACEBACK, dead_letter_names
from headrace.functions.reference import UserCode, reference_to
from headrace.functions.signatures import missing_output, output_of, result_type
from headrace.schemas.datatypes import quote_name
from headrace.schemas.fields import Schema
from headrace.steps.base import DEAD_LETTERS, MAIN, Node, Plan, Ref
from headrace.steps.facts import CHANGE, Facts, with_columns
from headrace.steps.traits import Finding, RealTimeNote, Tier, unknown_columns
from headrace.steps.unrouted import note_unrouted

OnFailure = Literal["divert", "fail"]
DEFAULT_CONCURRENCY = 10
"""The default number of concurrent calls of an async function."""


class WorkerStep(Node):
    """Passes its rows through Python workers; those without a result are diverted to `dead_letters`."""

    row_by_row: ClassVar[bool] = True

    if TYPE_CHECKING:

        @property
        def input(self) -> Ref:
            """The output that it reads."""

        @property
        def on_error(self) -> OnFailure:
            """The treatment of rows without a result."""

    @property
    def worker_code(self) -> Any:
        """The code that workers call; its calls are counted."""
        raise NotImplementedError

    @property
    def has_shadow(self) -> bool:
        """True if a second model is compared with the first."""
        return False

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, DEAD_LETTERS) if self.on_error == "divert" else (MAIN,)

    @property
    def collects_dead_letters(self) -> bool:
        return self.on_error == "divert"

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_unrouted(plan, self)


@dataclass(frozen=True)
class FunctionStep(WorkerStep):
    """Applies a user function; rows whose call raises are diverted to `dead_letters`."""

    input: Ref
    code: UserCode
    output: Schema | None = None
    """The declared columns; None for `filter`, which keeps the columns of its input."""
    on_error: OnFailure = "divert"
    concurrency: int | None = None
    timeout: int | None = None

    @property
    def worker_code(self) -> Any:
        return self.code.load()

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output == DEAD_LETTERS:
            return dead_letter_facts(inputs[0])
        return inputs[0] if self.output is None else facts_of_output(inputs[0], self.output)

    def check(self, plan: Plan) -> Iterator[Finding]:
        asynchronous = is_async(self.code.load())
        if self.concurrency is not None and not asynchronous:
            hint = f"write `async def {self.code}`, or remove concurrency"
            yield Finding(
                f"concurrency requires an async function, but `{self.code}` is not async", hint, (self.verb,)
            )
        if asynchronous and self.verb in ("flat_map", "map_batches"):
            yield Finding(f"{self.verb} does not accept an async function", "use map", (self.verb,))

    def tier(self, plan: Plan) -> Tier:
        unit = "batch" if self.verb == "map_batches" else "row"
        why = f"`{self.code}` is called for each {unit}; rows pass through Python in Arrow batches"
        return Tier("python", why, f"`{self.code}`")

    def description(self) -> list[str]:
        return [
            str(self.code),
            self.output.ddl if self.output is not None else "",
            f"{self.concurrency} calls at once" if self.concurrency else "",
            f"each within {text(self.timeout)}" if self.timeout else "",
            "stops on errors" if self.on_error == "fail" else "",
        ]


@dataclass(frozen=True)
class Map(FunctionStep):
    """Maps each row to one row; with `arguments` it adds the result of the function as columns."""

    verb: ClassVar[str] = "map"
    arguments: tuple[str, ...] = ()
    """The columns whose values the function gets instead of the row."""

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if not self.arguments or output == DEAD_LETTERS or self.output is None:
            return super().output_facts(output, inputs)
        return with_columns(inputs[0], self.output.names)

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        columns = plan.facts(self.input).columns
        if not self.arguments or columns is None or self.output is None:
            return
        yield from unknown_columns(self.arguments, columns, "arguments")
        known = {name.lower() for name in columns}
        for name in self.output.names:
            if name.lower() in known:
                what = f"the input has a column `{name}`, and the function adds one"
                yield Finding(what, "give the column in `output` another name", (self.verb,))

    def description(self) -> list[str]:
        called = [f"of {', '.join(self.arguments)}"] if self.arguments else []
        return [*super().description(), *called]


@dataclass(frozen=True)
class FlatMap(FunctionStep):
    """Maps each row to any number of rows."""

    verb: ClassVar[str] = "flat_map"
    drops_rows: ClassVar[bool] = True


@dataclass(frozen=True)
class Filter(FunctionStep):
    """Keeps the rows for which a function returns True."""

    verb: ClassVar[str] = "filter"
    drops_rows: ClassVar[bool] = True


@dataclass(frozen=True)
class MapBatches(FunctionStep):
    """Maps each batch of rows to a table."""

    verb: ClassVar[str] = "map_batches"
    drops_rows: ClassVar[bool] = True


def facts_of_output(before: Facts, output: Schema) -> Facts:
    """Return the facts of rows that a function returns; they have the time of their input row."""
    time = before.time_column if before.time_column is not None and before.time_column in output else None
    cdc = before.cdc and CHANGE in output
    fixed = tuple((name, keys) for name, keys in before.fixed if name in output)
    return replace(
        before, fixed=fixed, columns=output.names, schema=output, time_column=time, order_from=(), cdc=cdc
    )


def dead_letter_facts(before: Facts) -> Facts:
    """Return the facts of the rows whose call raised: the input columns, `reason` and `traceback`."""
    if before.columns is None:
        return Facts()
    return Facts(columns=(*dead_letter_names(list(before.columns)), REASON, TRACEBACK))


def function_node(
    kind: type[FunctionStep],
    name: str,
    ref: Ref,
    code: Any,
    output: str | type | Schema | None = None,
    *,
    on_error: OnFailure = "divert",
    concurrency: int | None = None,
    timeout: Duration | None = None,
    arguments: Sequence[str] | None = None,
) -> FunctionStep:
    """Return the node of a function; `output` defaults to the return type of the function.

    Raises:
        OptionError: an option has an invalid value.
        SchemaError: the output is unknown.
        LoadError: the function cannot be imported.
    """
    where = f"`{name}`"
    reference = reference_to(code, where=where)
    target, columns = reference.load(), None
    if kind is not Filter:
        columns = Schema.of(output) if output is not None else output_of(target, many=kind is FlatMap)
        if columns is None and arguments and (result := result_type(target)) is not None:
            columns = Schema.of(f"{quote_name(name)} {result}")
        if columns is None:
            raise missing_output(name)
    require_choice(on_error, OnFailure, "on_error", where)
    if concurrency is not None and (not isinstance(concurrency, int) or concurrency < 1):
        raise OptionError(f"expected concurrency to be at least 1, got {concurrency!r}", where=where)
    limit = None if timeout is None else microseconds(timeout, where=f"{where}: timeout")
    if arguments is not None:
        if isinstance(arguments, str) or not arguments:
            hint = 'arguments=["amount", "country"]'
            raise OptionError(f"expected columns as arguments, got {arguments!r}", where=where, hint=hint)
        return Map(name, ref, reference, columns, on_error, concurrency, limit, tuple(arguments))
    return kind(name, ref, reference, columns, on_error, concurrency, limit)
