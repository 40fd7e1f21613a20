"""Expressions of River models: classes with plain values as arguments, joined by `|`, `+` and `*`."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from headrace.errors import OptionError, did_you_mean

MODULES = (
    *("anomaly", "cluster", "compose", "drift", "dummy", "ensemble", "facto", "feature_extraction"),
    *("feature_selection", "forest", "imblearn", "linear_model", "metrics", "misc", "model_selection"),
    *(
        "multiclass",
        "naive_bayes",
        "neighbors",
        "optim",
        "preprocessing",
        "rules",
        "stats",
        "time_series",
        "tree",
    ),
)
"""The modules of River that an expression can use; others read files or download data."""
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.BitOr: lambda left, right: left | right,
    ast.Add: lambda left, right: left + right,
    ast.Mult: lambda left, right: left * right,
}
_MAX_LENGTH = 1000
_HINT = "such as preprocessing.StandardScaler() | linear_model.LogisticRegression(l2=0.1)"


def check_expression(text: str) -> None:
    """Check the form of an expression; its classes are not known without River.

    Raises:
        OptionError: it is more than classes of River with plain values.
    """
    _evaluate(_parse(text), lambda module, name: None, build=False)


def build_model(text: str) -> Any:
    """Return the model of an expression.

    >>> check_expression("linear_model.LinearRegression(l2=2 ** 8)")
    Traceback (most recent call last):
    headrace.errors.OptionError: `2 ** 8` is neither a class of River nor a plain value
      hint: such as preprocessing.StandardScaler() | linear_model.LogisticRegression(l2=0.1)

    Raises:
        OptionError: a class does not exist.
    """
    return _evaluate(_parse(text), _class_of, build=True)


def _parse(text: str) -> ast.expr:
    if len(text) > _MAX_LENGTH:
        raise OptionError(
            f"the expression has more than {_MAX_LENGTH:,} characters", hint="use models.learner"
        )
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or str(error)
        raise OptionError(f"{text!r} is not an expression: {reason}", hint=_HINT) from None


def _evaluate(node: ast.expr, resolve: Callable[[str, str], Any], *, build: bool) -> Any:
    """Return the value of an expression; without `build`, only visit its parts."""

    def value(part: ast.expr) -> Any:
        return _evaluate(part, resolve, build=build)

    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS and not _is_plain(node):
        left, right = value(node.left), value(node.right)
        return _OPERATORS[type(node.op)](left, right) if build else None
    if isinstance(node, ast.Call) and all(keyword.arg for keyword in node.keywords):
        called, values = _attribute(node.func, resolve), [value(part) for part in node.args]
        options = {str(keyword.arg): value(keyword.value) for keyword in node.keywords}
        return called(*values, **options) if build else None
    if isinstance(node, ast.Attribute):
        return _attribute(node, resolve)
    if isinstance(node, ast.List | ast.Tuple):
        items = [value(part) for part in node.elts]
        return tuple(items) if isinstance(node, ast.Tuple) else items
    if isinstance(node, ast.Dict) and all(node.keys):
        return {value(key): value(item) for key, item in zip(node.keys, node.values, strict=True) if key}
    try:
        return ast.literal_eval(node)
    except ValueError:
        what = f"`{ast.unparse(node)}` is neither a class of River nor a plain value"
        raise OptionError(what, hint=_HINT) from None


def _is_plain(node: ast.expr) -> bool:
    """True for a value such as `1 + 2j`, which `literal_eval` reads."""
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _attribute(node: ast.expr, resolve: Callable[[str, str], Any]) -> Any:
    """Return a class of River, such as `optim.SGD` or `optim.losses.Huber`."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or not names or any(name.startswith("_") for name in names):
        raise OptionError(f"`{ast.unparse(node)}` is no class of River", hint=_HINT)
    if node.id not in MODULES:
        what = f"River has no module `{node.id}` that a model can use"
        raise OptionError(what, hint=did_you_mean(node.id, MODULES))
    return resolve(".".join([node.id, *names[:-1]]), names[-1])


def _class_of(module: str, name: str) -> Any:
    try:
        members = vars(importlib.import_module(f"river.{module}"))
    except ModuleNotFoundError as error:
        if error.name == "river":
            raise
        raise OptionError(f"River has no module `{module}`", hint=_HINT) from None
    classes = {key: each for key, each in members.items() if _is_river_class(each)}
    if name not in classes:
        what = f"River has no class `{module}.{name}`"
        raise OptionError(what, hint=did_you_mean(name, classes))
    return classes[name]


def _is_river_class(value: Any) -> bool:
    return inspect.isclass(value) and value.__module__.partition(".")[0] == "river"
