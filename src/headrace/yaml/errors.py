"""Collect errors of a document with their positions, to report all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, ParamSpec, TypeVar

from pydantic import ValidationError

from headrace.access.effort import EffortError, check_effort
from headrace.errors import DocumentError, HeadraceError, Location, Problem
from headrace.steps.grammar.model import Grammar
from headrace.steps.grammar.options import OPTION_TEXT
from headrace.steps.grammar.problems import EXPECTED_TEXT, MISSING_KEY, UNKNOWN_KEY, describe_error
from headrace.yaml.positions import Scalar, Value, find, plain, replace_at

T = TypeVar("T")
P = ParamSpec("P")
Model = TypeVar("Model", bound=Grammar)


class ErrorCollector:
    """The problems of a document so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._known: set[Problem] = set()
        self._ignored: set[str] = set()

    def add(self, where: str, what: str, hint: str = "") -> None:
        """Add a problem and continue."""
        check_effort()
        problem = Problem(where, what, hint)
        if problem not in self._known and not self._is_ignored(where):
            self._known.add(problem)
            self.problems.append(problem)

    def attempt(self, read: Callable[P, T], *args: P.args, **options: P.kwargs) -> T | None:
        """Return the result of `read`, or None after adding the problems that it raised."""
        check_effort()
        try:
            return read(*args, **options)
        except EffortError:
            raise
        except DocumentError as error:
            for problem in error.problems:
                self.add(problem.where, problem.what, problem.hint)
            return None

    def ignore(self, where: str) -> None:
        """Ignore later problems of a value, which are consequences of one that was added."""
        self._ignored.add(where)

    def raise_any(self) -> None:
        """Raise all problems, in the order of the document.

        Raises:
            DocumentError: there is at least one.
        """
        if self.problems:
            raise DocumentError(sorted(self.problems, key=_position))

    def _is_ignored(self, where: str) -> bool:
        parts = where.split(": ") if self._ignored else []
        return any(": ".join(parts[:end]) in self._ignored for end in range(1, len(parts) + 1))


def raise_problem(where: str, what: str, hint: str = "") -> NoReturn:
    """Raise one problem.

    Raises:
        DocumentError: always.
    """
    raise DocumentError([Problem(where, what, hint)])


@contextmanager
def locate_errors(where: str) -> Iterator[None]:
    """Add a position to errors that have none."""
    try:
        yield
    except DocumentError:
        raise
    except HeadraceError as error:
        raise_problem(f"{where}: {error.where}" if error.where else where, error.what, error.hint)


def validate(model: type[Model], value: Value) -> Model:
    """Read a value as a model of the grammar; a number or `true` is accepted as text.

    Raises:
        DocumentError: the value does not fit; every problem has its line and column.
    """
    while True:
        check_effort()
        try:
            return model.model_validate(plain(value), strict=False)
        except ValidationError as error:
            changed = _with_text(value, error)
            if changed == value:
                problems = [_problem(value, item) for item in error.errors()]
                raise DocumentError(sorted(problems, key=_position)) from None
            value = changed


def _with_text(value: Value, error: ValidationError) -> Value:
    for item in error.errors():
        scalar, _ = find(value, item["loc"])
        wants_text = item["type"] in (EXPECTED_TEXT, OPTION_TEXT, "string_type")
        if wants_text and isinstance(scalar, Scalar) and isinstance(scalar.value, int | float):
            value = replace_at(value, item["loc"], Scalar(scalar.where, scalar.text, scalar.text))
    return value


def _problem(value: Value, error: Any) -> Problem:
    kind, path, context = error["type"], error["loc"], error.get("ctx", {})
    actual, key_at = find(value, path[:-1] if kind == MISSING_KEY else path)
    place = key_at if kind == UNKNOWN_KEY else actual.where
    what, hint = describe_error(error, actual, text=actual.text if isinstance(actual, Scalar) else "")
    inside = context.get("where")
    return Problem(f"{place}: {inside}" if inside else place, what, hint)


def _position(problem: Problem) -> tuple[str, int, int]:
    location = Location.parse(problem.where)
    return (problem.where, 0, 0) if location is None else (location.file, location.line, location.column)
