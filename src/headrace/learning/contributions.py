"""Contributions of features to a prediction, for models that offer them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def contributions_of(model: Any, features: Mapping[str, Any]) -> dict[str, float] | None:
    """Return the contribution of each feature to the score of a linear model, largest first; None for others.

    The score of a regression is its prediction, that of a logistic regression the logarithm of the odds. It
    is the sum of the contributions and of `intercept`. Features are those that reach the last part.

    >>> from headrace.models.expression import build_model
    >>> model = build_model("linear_model.LinearRegression()")
    >>> model.learn_one({"a": 1.0, "b": 3.0}, 2.0)
    >>> list(contributions_of(model, {"a": 1.0, "b": 3.0}))
    ['b', 'a', 'intercept']
    """
    parts = list(model.steps.values()) if hasattr(model, "steps") else [model]
    for part in parts[:-1]:
        if not hasattr(part, "transform_one"):
            return None
        features = part.transform_one(dict(features))
    weights = getattr(parts[-1], "weights", None)
    if not isinstance(weights, Mapping):
        return None
    terms = {name: float(weights.get(name, 0.0)) * float(value) for name, value in features.items()}
    ordered = dict(sorted(terms.items(), key=lambda item: -abs(item[1])))
    return {**ordered, "intercept": float(getattr(parts[-1], "intercept", 0.0))}
