"""The keys of function steps in documents."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, PlainSerializer

from headrace.access import CODE_HINT, current_code
from headrace.errors import OptionError
from headrace.functions.reference import UserCode
from headrace.processors.stateful_map import StatefulMap
from headrace.steps.code.functions import (
    Filter,
    FlatMap,
    FunctionStep,
    Map,
    MapBatches,
    OnFailure,
    function_node,
)
from headrace.steps.grammar.model import DocumentModel
from headrace.steps.grammar.options import SchemaValue
from headrace.steps.grammar.problems import invalid
from headrace.steps.grammar.step import Inputs, StepModel
from headrace.steps.grammar.values import Length, Names, Text

PYTHON = "The function as `module:name`; the module is beside the document, or installed"
ON_ERROR = "`divert` sends a row whose call raised to `dead_letters`; `fail` stops the run"
_NO_NAME_HINT = "move it to the top level of a module"


def code_text(code: UserCode) -> str:
    """Return the reference to user code in a document, `module:name`.

    Raises:
        OptionError: the code has no name that can be imported.
    """
    if not code.named:
        what = f"`{code}` cannot be written in a document"
        is_stateful_map = isinstance(code.target, StatefulMap)
        hint = "write a Processor and use `process`" if is_stateful_map else _NO_NAME_HINT
        raise OptionError(what, hint=hint)
    return code.text


def _check_code(reference: str) -> str:
    if not current_code():
        raise invalid("a step that loads Python is not accepted", CODE_HINT)
    return reference


CodeText = Annotated[Text, AfterValidator(_check_code), PlainSerializer(code_text)]
"""A reference to user code; the value of a node is a `UserCode`."""


class FunctionOptions(DocumentModel):
    """The value of `filter` in a document."""

    label = "the function"
    short = "python"
    example = 'such as {python: "scoring:score", output: "id string, score double"}'
    code: CodeText = Field(alias="python", description=PYTHON)
    on_error: OnFailure = Field(default="divert", description=ON_ERROR)
    concurrency: int | None = Field(
        default=None, ge=1, description="The maximum number of concurrent calls of an async function"
    )
    timeout: Length | None = Field(default=None, description="The timeout of a call")


class OutputOptions(FunctionOptions):
    """The value of `flat_map` or `map_batches` in a document."""

    output: SchemaValue | None = Field(
        default=None, description="The columns that the function returns; default: its return type"
    )


class MapOptions(OutputOptions):
    """The value of `map` in a document."""

    arguments: Names | None = Field(
        default=None,
        description="The columns whose values the function gets; its result is added to the row",
    )


class _FunctionModel(StepModel):
    """A function step in a document."""

    loads_code = True
    options: FunctionOptions
    node: ClassVar[type[FunctionStep]]

    def build(self, name: str, inputs: Inputs) -> FunctionStep:
        """Return the node of the step; the function is imported."""
        options = self.options
        timeout = None if options.timeout is None else f"{options.timeout} microseconds"
        return function_node(
            self.node,
            name,
            inputs.refs[0],
            options.code,
            getattr(options, "output", None),
            on_error=options.on_error,
            concurrency=options.concurrency,
            timeout=timeout,
            arguments=getattr(options, "arguments", None),
        )


class MapModel(_FunctionModel):
    """`map` in a document."""

    node = Map
    key = "map"
    options: MapOptions = Field(alias="map", description="Maps each row to one row with a Python function")


class FlatMapModel(_FunctionModel):
    """`flat_map` in a document."""

    node = FlatMap
    key = "flat_map"
    options: OutputOptions = Field(
        alias="flat_map", description="Maps each row to any number of rows with a Python function"
    )


class FilterModel(_FunctionModel):
    """`filter` in a document."""

    node = Filter
    key = "filter"
    options: FunctionOptions = Field(
        alias="filter", description="Keeps the rows for which a Python function returns True"
    )


class MapBatchesModel(_FunctionModel):
    """`map_batches` in a document."""

    node = MapBatches
    key = "map_batches"
    options: OutputOptions = Field(
        alias="map_batches", description="Maps each batch of rows to a table with a Python function"
    )
