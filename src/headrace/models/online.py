"""Models for `learn`, which are trained row by row while they predict."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator

from headrace.models.code import Code
from headrace.models.expression import check_expression
from headrace.steps.grammar.declaration import Choice, OneOf, declare
from headrace.steps.grammar.problems import collect_errors
from headrace.steps.grammar.values import Expected, Text


def _require_expression(text: str) -> str:
    collect_errors(check_expression, text)
    return text


Expression = Annotated[
    Text,
    Expected("an expression of River", "such as linear_model.LinearRegression(l2=0.1)"),
    AfterValidator(_require_expression),
]


@declare
class OnlineModel(Choice):
    """A model that learns from each row."""

    label: ClassVar[str] = "online model"
    example: ClassVar[str] = "such as {river: linear_model.LinearRegression(), features: [a, b], label: y}"
    python_example: ClassVar[str] = 'such as models.river("linear_model.LinearRegression()")'

    def phrase(self) -> str:
        """Describe the model.

        >>> river("linear_model.LinearRegression()").phrase()
        'linear_model.LinearRegression()'
        """
        return str(getattr(self, self.short))


AnyOnlineModel = Annotated[OnlineModel, OneOf()]
"""A field with an online model of any kind."""


@declare
class River(OnlineModel):
    """A model of River, as an expression of its classes."""

    expression: Expression
    """The model, such as `preprocessing.StandardScaler() | linear_model.LogisticRegression()`."""

    short: ClassVar[str] = "expression"


@declare
class Learner(OnlineModel):
    """A Python function that returns a new model, or a class of models."""

    code: Code
    """The function or class as `module:name`; the module is beside the document, or installed."""

    short: ClassVar[str] = "code"


def river(expression: str) -> River:
    """A model of [River](https://riverml.xyz): an expression of its classes with plain values as arguments.

    `|` passes the features through one part after the other, `+` beside each other, as in River. Needs
    `headrace[analytics]`.

    Args:
        expression: the model; modules are those of River, such as `linear_model`, `tree` and `forest`.

    >>> river("preprocessing.StandardScaler() | linear_model.LogisticRegression(l2=0.1)")
    River(expression='preprocessing.StandardScaler() | linear_model.LogisticRegression(l2=0.1)')
    """
    return River.create(expression)


def learner(code: Any) -> Learner:
    """A function without parameters that returns a new model, or a class of models.

    A model has `learn_one(x, y)` and `predict_one(x)`, and a classifier also `predict_proba_one(x)`, where
    `x` is a dict of features. It is pickled into the state.

    Args:
        code: the function or class, or `"module:name"`.

    >>> class Mean:
    ...     n, total = 0, 0.0
    ...
    ...     def predict_one(self, x):
    ...         return self.total / max(self.n, 1)
    ...
    ...     def learn_one(self, x, y):
    ...         self.n, self.total = self.n + 1, self.total + y
    >>> learner(Mean).kind
    'learner'
    """
    return Learner.create(code)
