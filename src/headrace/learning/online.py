"""Models of River as `learn` uses them: their kinds, their metrics and the detector of drift."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Literal

from headrace.errors import OptionError, did_you_mean
from headrace.models import build_model

Kind = Literal["anomaly detector", "classifier", "clusterer", "regressor"]
_DEFAULT: dict[Kind, tuple[str, ...]] = {"classifier": ("Accuracy",), "regressor": ("MAE",)}


def create_model(expression: str | None, code: Callable[[], Any] | None) -> Any:
    """Return a new model of an expression of River, or of the code of a user."""
    return build_model(expression) if expression is not None else code() if code is not None else None


def kind_of(model: Any) -> Kind:
    """Return the kind of a model: that of the last part of a pipeline.

    Raises:
        OptionError: the object is no model.
    """
    while hasattr(model, "steps"):
        model = list(model.steps.values())[-1]
    base = importlib.import_module("river.base")
    kinds: list[tuple[type, Kind]] = [
        (base.AnomalyDetector, "anomaly detector"),
        (base.Classifier, "classifier"),
        (base.Clusterer, "clusterer"),
        (base.Regressor, "regressor"),
    ]
    known = next((kind for parent, kind in kinds if isinstance(model, parent)), None)
    if known is not None:
        return known
    if not hasattr(model, "learn_one") or not hasattr(model, "predict_one"):
        what = f"{type(model).__name__} is no model that predicts and learns"
        raise OptionError(what, hint="it needs the methods predict_one(x) and learn_one(x, y)")
    return "classifier" if hasattr(model, "predict_proba_one") else "regressor"


def choose_metrics(model: Any, kind: Kind, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the metrics of a model.

    Raises:
        OptionError: a metric does not exist, is no number, or does not fit the model.
    """
    if names is None:
        return _DEFAULT.get(kind, ())
    base = importlib.import_module("river.metrics.base")
    members = vars(importlib.import_module("river.metrics"))
    kinds = (base.ClassificationMetric, base.RegressionMetric)
    known = {
        name: each for name, each in members.items() if isinstance(each, type) and issubclass(each, kinds)
    }
    for name in names:
        if name not in known:
            raise OptionError(f"River has no metric `{name}`", hint=did_you_mean(name, known))
        metric = new_metric(name)
        if not hasattr(metric, "get"):
            raise OptionError(
                f"the metric `{name}` is no number", hint="such as Accuracy, F1, LogLoss or MAE"
            )
        fits = base.ClassificationMetric if kind == "classifier" else base.RegressionMetric
        if not isinstance(metric, fits):
            raise OptionError(
                f"the metric `{name}` does not fit a {kind}", hint=f"such as {_DEFAULT[kind][0]}"
            )
    return tuple(names)


def new_metric(name: str) -> Any:
    """Return a new metric of River, such as `Accuracy`."""
    return getattr(importlib.import_module("river.metrics"), name)()


def new_drift_detector() -> Any:
    """Return a new detector of drift of the mean error."""
    return importlib.import_module("river.drift").ADWIN()
