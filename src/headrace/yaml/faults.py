"""What is wrong with a document, collected: one reading names every fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, ParamSpec, TypeVar

from headrace.errors import DocumentError, HeadraceError, Problem
from headrace.yaml.tree import Fields, Value

T = TypeVar("T")
P = ParamSpec("P")


class Faults:
    """The faults found so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._spoilt: set[str] = set()

    def add(self, where: str, what: str, hint: str = "") -> None:
        """Note a fault and go on."""
        problem = Problem(where, what, hint)
        if problem not in self.problems and not self._follows(where):
            self.problems.append(problem)

    def attempt(self, read: Callable[P, T], *args: P.args, **options: P.kwargs) -> T | None:
        """What `read` gives, or None after noting what it raised."""
        try:
            return read(*args, **options)
        except DocumentError as error:
            for problem in error.problems:
                self.add(problem.where, problem.what, problem.hint)
            return None

    def spoil(self, where: str) -> None:
        """Pass over later faults of a value: they follow from the one that is noted already."""
        self._spoilt.add(where)

    def raise_any(self) -> None:
        """Raise all faults, in the order of the document.

        Raises:
            DocumentError: there are some.
        """
        if self.problems:
            raise self.error()

    def error(self) -> DocumentError:
        """All faults as one error, in the order of the document."""
        return DocumentError(sorted(self.problems, key=_position))

    def _follows(self, where: str) -> bool:
        return any(where == spoilt or where.startswith(f"{spoilt}: ") for spoilt in self._spoilt)


def fault(where: str, what: str, hint: str = "") -> NoReturn:
    """Raise one fault.

    Raises:
        DocumentError: always.
    """
    raise DocumentError([Problem(where, what, hint)])


@contextmanager
def at(value: Value, *, inside: Fields | None = None) -> Iterator[None]:
    """Give errors that know no position that of a value.

    An error that names an option (`sliding: every`) gets the position of that option, where `inside` has it.
    """
    try:
        yield
    except DocumentError:
        raise
    except HeadraceError as error:
        option = error.where.rpartition(": ")[2]
        place = inside[option].where if inside is not None and option in inside else value.where
        where = f"{place}: {error.where}" if error.where else place
        raise DocumentError([Problem(where, error.what, error.hint)]) from None


def _position(problem: Problem) -> tuple[str, int, int]:
    file, *numbers = problem.where.split(": ")[0].rsplit(":", 2)
    if len(numbers) == 2 and all(number.isdigit() for number in numbers):
        return file, int(numbers[0]), int(numbers[1])
    return problem.where, 0, 0
