"""Predictions: the columns that a model computes from those of a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, replace
from typing import Annotated, ClassVar

from pydantic import Field

from headrace.errors import OptionError
from headrace.models import AnyModel, Function, Model
from headrace.models.check import check_predict
from headrace.schemas.fields import Schema
from headrace.steps.base import DEAD_LETTERS, Plan, Ref
from headrace.steps.code.functions import OnFailure, WorkerStep, dead_letter_facts
from headrace.steps.facts import Facts
from headrace.steps.grammar.declaration import Choice, Input, StepNode, declare
from headrace.steps.grammar.kinds import KindKeys
from headrace.steps.grammar.options import SchemaValue
from headrace.steps.grammar.step import Inputs, PaletteEntry
from headrace.steps.grammar.values import Names
from headrace.steps.traits import Finding, Tier

VERSION = "model_version"
"""The column with the version of the model that has computed a row."""


@declare
class PredictOptions(KindKeys):
    """A model, beside its features and its output."""

    model: AnyModel
    """Computes the columns of `output`."""
    output: SchemaValue
    """The columns that the model computes, such as `risk double`."""
    features: Names | None = None
    """The columns that the model reads, in its order; default: all."""
    on_error: OnFailure = "divert"
    """`divert` sends rows without a result to `dead_letters`; `fail` stops the run."""
    shadow: AnyModel | None = None
    """A second model, whose results are only compared: rows that differ are counted in metrics."""

    label: ClassVar[str] = "predict"
    example: ClassVar[str] = "such as {sklearn: risk.joblib, features: [amount, age], output: risk double}"
    kind_field: ClassVar[str] = "model"
    choice: ClassVar[type[Choice]] = Model


@declare
class Predict(StepNode, WorkerStep):
    """Adds the columns that a model computes."""

    input: Input
    _: KW_ONLY
    options: Annotated[PredictOptions, Field(alias="predict")]
    """Adds the columns that a model computes."""

    verb: ClassVar[str] = "predict"
    key: ClassVar[str] = "predict"
    loads_code: ClassVar[bool] = True
    duplicate_hint: ClassVar[str] = "rename the column before the step, which adds it"
    palette: ClassVar[PaletteEntry] = PaletteEntry(
        "Analytics", "Predict", {"predict": {"sklearn": None, "output": None}}
    )

    def build(self, name: str, inputs: Inputs) -> Predict:
        """Return the node of a step in a document; a function is imported."""
        import_code(self.options.model, self.options.shadow)
        return super().build(name, inputs)

    @property
    def on_error(self) -> OnFailure:
        """The treatment of rows without a result."""
        return self.options.on_error

    @property
    def worker_code(self) -> Model:
        return self.options.model

    @property
    def has_shadow(self) -> bool:
        return self.options.shadow is not None

    @property
    def volatile(self) -> bool:
        # The model is a file that can be replaced, or a service.
        return True

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output == DEAD_LETTERS:
            return dead_letter_facts(inputs[0])
        columns = inputs[0].columns
        added = (*self.options.output.names, VERSION)
        return replace(inputs[0], columns=None if columns is None else (*columns, *added), schema=None)

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from check_predict(self, plan)

    def tier(self, plan: Plan) -> Tier:
        model = self.options.model.phrase()
        why = f"`{model}` is called for each batch; rows pass through Python in Arrow batches"
        return Tier("python", why, "the model")

    def description(self) -> list[str]:
        options = self.options
        return [
            options.model.phrase(),
            f"of {', '.join(options.features)}" if options.features else "",
            options.output.ddl,
            "stops on errors" if options.on_error == "fail" else "",
            f"beside {options.shadow.phrase()}" if options.shadow is not None else "",
        ]


def predict_node(
    name: str,
    ref: Ref,
    model: Model,
    *,
    output: str | type | Schema,
    features: str | Sequence[str] | None = None,
    on_error: OnFailure = "divert",
    shadow: Model | None = None,
) -> Predict:
    """Return the node of a model.

    Raises:
        OptionError: an option has an invalid value.
        LoadError: the function cannot be imported.
    """
    where = f"`{name}`"
    try:
        options = PredictOptions.create(model, output, features, on_error, shadow)
    except OptionError as error:
        option = error.where.rpartition(": ")[2]
        location = f"{where}: {option}" if option in PredictOptions.field_names() else where
        raise OptionError(error.what, where=location, hint=error.hint) from None
    import_code(options.model, options.shadow)
    return Predict(name, ref, options=options)


def import_code(*models: Model | None) -> None:
    """Import the functions of models, while the directory of their document is known.

    Raises:
        LoadError: it cannot be imported.
    """
    for model in models:
        if isinstance(model, Function):
            model.code.load()
