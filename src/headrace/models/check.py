"""Check the columns of a model."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from headrace.models import HttpModel, Onnx, Sklearn
from headrace.steps.traits import Finding, unknown_columns

if TYPE_CHECKING:
    from headrace.models.declare import Predict
    from headrace.steps.base import Plan

_KEYS = ("features", "predict")


def check_predict(node: Predict, plan: Plan) -> Iterator[Finding]:
    """Yield the problems of the columns that a model reads."""
    options, features = node.options, node.options.features
    for model in (options.model, options.shadow):
        if isinstance(model, HttpModel) and model.fallback is not None:
            yield from _check_fallback(model.fallback, options.output.names)
    if features is None:
        in_file = next(
            (each for each in (options.model, options.shadow) if isinstance(each, Sklearn | Onnx)), None
        )
        if in_file is not None:
            what = f"the features of {in_file.kind} are missing"
            yield Finding(what, 'set features=["amount", "age"], in the order of the model', _KEYS)
        return
    yield from unknown_columns(features, plan.facts(node.input).columns, "feature", _KEYS)


def _check_fallback(fallback: Collection[str], output: Collection[str]) -> Iterator[Finding]:
    for name in sorted({*output} ^ {*fallback}):
        what = "is not a column of `output`" if name in fallback else "has no fallback"
        yield Finding(f"`{name}` {what}", "set a fallback for each column of `output`", ("predict",))
