"""Online learning: a model per key predicts each row and learns from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from headrace.durations import Duration, text
from headrace.errors import OptionError
from headrace.models import AnyOnlineModel, Learner, OnlineModel
from headrace.schemas.fields import Schema
from headrace.steps.base import DEAD_LETTERS, MAIN, Plan, Ref, out_of_order
from headrace.steps.code.functions import OnFailure, dead_letter_facts
from headrace.steps.expressions import Named, describe_keys, stable_names
from headrace.steps.facts import Facts, late_facts
from headrace.steps.grammar.declaration import Choice, Input, StepNode, declare
from headrace.steps.grammar.kinds import KindKeys
from headrace.steps.grammar.step import Inputs, PaletteEntry
from headrace.steps.grammar.values import KeyColumns, Length, Names, PositiveLength, Text
from headrace.steps.keyed import KeyedNode
from headrace.steps.traits import Finding, RealTimeNote, StateBound, Tier, unknown_columns
from headrace.steps.unrouted import note_unrouted

METRICS, DRIFT, LATE = "metrics", "drift", "late"
PREDICTION = ("prediction", "model_rows")
"""The columns that a row gets."""
METRIC_COLUMNS = (
    "window struct<start: timestamp, end: timestamp>, metric string, value double, total double, rows bigint"
)
DRIFT_COLUMNS = "at timestamp, model_rows bigint, error double, error_before double"
Predicts = Literal["label", "probability"]


@declare
class LearnOptions(KindKeys):
    """An online model, beside its features and its label."""

    model: AnyOnlineModel
    """Predicts the label of a row."""
    features: Names
    """The columns that the model gets; a null is left out."""
    label_column: Annotated[Text | None, Field(alias="label")] = None
    """The column with the true value; null for rows that are only predicted."""
    on: Text | None = None
    """The column that a row shares with a later row that has its label; needs `label_delay`."""
    label_delay: PositiveLength | None = None
    """How long a row waits for its label."""
    output: Predicts = "label"
    """`probability`: the prediction is the probability of the label `true`."""
    metrics: Names | None = None
    """Metrics of River, such as `F1`; default: `Accuracy` for a classifier, `MAE` for a regressor."""
    every: PositiveLength = Length(3_600_000_000)
    """The size of the windows of `.metrics`."""
    on_error: OnFailure = "divert"
    """`divert` sends rows for which the model raises to `dead_letters`; `fail` stops the run."""

    label_text: ClassVar[str] = "learn"
    label: ClassVar[str] = "learn"
    example: ClassVar[str] = (
        "such as {river: linear_model.LogisticRegression(), features: [amount, age], label: fraud}"
    )
    kind_field: ClassVar[str] = "model"
    choice: ClassVar[type[Choice]] = OnlineModel

    def __post_init__(self) -> None:
        """Require the options that belong together."""
        if (self.on is None) != (self.label_delay is None):
            missing = "label_delay" if self.label_delay is None else "on"
            raise OptionError(
                f"`{missing}` is missing",
                hint='labels that arrive later need both, such as on="id", label_delay="1 day"',
            )
        if self.label_column is None and (
            self.on is not None or self.metrics or self.output == "probability"
        ):
            raise OptionError("`label` is missing", hint='set the column with the true value: label="fraud"')


@declare
class Learn(StepNode, KeyedNode):
    """Predicts each row with a model of its key, which then learns from it."""

    input: Input
    _: KW_ONLY
    keys: Annotated[KeyColumns, Field(alias="key_by")] = ()
    options: Annotated[LearnOptions, Field(alias="learn")]
    """Predicts each row with a model of its key, which then learns from it."""

    verb: ClassVar[str] = "learn"
    key: ClassVar[str] = "learn"
    loads_code: ClassVar[bool] = True
    is_explained: ClassVar[bool] = True
    state_variable: ClassVar[str] = "state"
    needs_time = True
    duplicate_hint: ClassVar[str] = "rename the column before the step, which adds it"
    palette: ClassVar[PaletteEntry] = PaletteEntry(
        "Analytics", "Learn", {"key_by": None, "learn": {"river": None, "features": None, "label": None}}
    )

    def build(self, name: str, inputs: Inputs) -> Learn:
        """Return the node of a step in a document; a function is imported."""
        import_model(self.options.model)
        return super().build(name, inputs)

    @property
    def keyed_code(self) -> Any:
        return self.options.model

    @property
    def on_error(self) -> OnFailure:
        """The treatment of rows for which the model raises."""
        return self.options.on_error

    @property
    def outputs(self) -> tuple[str, ...]:
        dead_letters = (DEAD_LETTERS,) if self.on_error == "divert" else ()
        scored = (METRICS, DRIFT) if self.options.label_column is not None else ()
        return (MAIN, LATE, *scored, *dead_letters)

    @property
    def stored_outputs(self) -> tuple[str, ...]:
        return tuple(output for output in self.outputs if output in (LATE, DEAD_LETTERS))

    def fires_by_clock(self, facts: Facts) -> bool:
        return facts.by_clock

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output == DEAD_LETTERS:
            return dead_letter_facts(inputs[0])
        if output == LATE:
            return late_facts(inputs[0])
        if output in (METRICS, DRIFT):
            names = Schema.of(METRIC_COLUMNS if output == METRICS else DRIFT_COLUMNS).names
            hold = self.options.every if output == METRICS else 0
            return Facts(
                columns=(*self.key_names, *names), timed=True, by_clock=inputs[0].by_clock, hold=hold
            )
        rows = inputs[0].columns
        return replace(inputs[0], columns=None if rows is None else (*rows, *PREDICTION), schema=None)

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        columns, options = plan.facts(self.input).columns, self.options
        yield from unknown_columns(options.features, columns, "feature", ("features", "learn"))
        named = tuple(name for name in (options.label_column, options.on) if name is not None)
        yield from unknown_columns(named, columns, "label", ("label", "on", "learn"))
        label = options.label_column
        if label is not None and label.lower() in map(str.lower, options.features):
            what = f"the label `{label}` is also a feature"
            yield Finding(what, "remove it from the features; the model would read its answer", ("features",))

    def tier(self, plan: Plan) -> Tier:
        why = f"`{self.options.model.phrase()}` runs in Python; rows and models pass in Arrow batches"
        return Tier("python", why, "the model")

    def state_bound(self, plan: Plan) -> StateBound:
        behind, delay = out_of_order(plan, self), self.options.label_delay
        waiting = f", and rows up to {text(behind)} behind" if behind else ""
        waiting += f", and the features of rows without a label for {text(delay)}" if delay else ""
        kept = f"a model{self.of_each_key}, never expired{waiting}"
        return StateBound(kept, f"the distinct values of {self.key_text}" if self.keys else "")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_unrouted(plan, self)

    def description(self) -> list[str]:
        options = self.options
        return [
            options.model.phrase(),
            f"of {', '.join(options.features)}",
            f"predicts {options.label_column}" if options.label_column else "",
            f"labels up to {text(options.label_delay)} later on {options.on}" if options.label_delay else "",
            describe_keys(self.keys),
            "stops on errors" if options.on_error == "fail" else "",
        ]

    def state_fields(self) -> Mapping[str, Any]:
        options = self.options
        model = "a function" if isinstance(options.model, Learner) else options.model.phrase()
        return {
            "keys": stable_names(self.keys),
            "model": model,
            "features": list(options.features),
            "label": options.label_column,
            "on": options.on,
            "metrics": list(options.metrics or ()),
        }


def learn_node(
    name: str,
    ref: Ref,
    keys: Named,
    model: OnlineModel,
    *,
    features: str | Sequence[str],
    label: str | None = None,
    on: str | None = None,
    label_delay: Duration | None = None,
    output: Predicts = "label",
    metrics: str | Sequence[str] | None = None,
    every: Duration = "1 hour",
    on_error: OnFailure = "divert",
) -> Learn:
    """Return the node of an online model.

    Raises:
        OptionError: an option has an invalid value.
        LoadError: the function cannot be imported.
    """
    where = f"`{name}`"
    if not isinstance(model, OnlineModel):
        hint = 'such as models.river("linear_model.LogisticRegression()")'
        raise OptionError(f"expected an online model, got {model!r}", where=where, hint=hint)
    try:
        options = LearnOptions.create(
            model, features, label, on, label_delay, output, metrics, every, on_error
        )
    except OptionError as error:
        option = error.where.rpartition(": ")[2]
        location = f"{where}: {option}" if option in LearnOptions.field_names() else where
        raise OptionError(error.what, where=location, hint=error.hint) from None
    import_model(options.model)
    return Learn(name, ref, keys=keys, options=options)


def import_model(model: OnlineModel) -> None:
    """Import a function, while the directory of its document is known.

    Raises:
        LoadError: it cannot be imported.
    """
    if isinstance(model, Learner):
        model.code.load()
