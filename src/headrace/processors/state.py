"""State of a processor, declared as class attributes; each key has its own.

>>> from headrace import Processor, state
>>> class Spend(Processor):
...     total: float = state.value(0.0)
...     recent: list[float] = state.list()
...     by_country: dict[str, int] = state.map(ttl="1 day")

In the methods of the class they are plain attributes: `self.total += row.amount`,
`self.recent.append(row.amount)`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

from headrace.durations import Duration, microseconds
from headrace.processors.expiring import ExpiringList, ExpiringMap

__all__ = ["list", "map", "value"]
T = TypeVar("T")
Kind = Literal["value", "list", "map"]
_IMMUTABLE = (type(None), bool, int, float, str, bytes, tuple, frozenset)


class Cell:
    """A declared state: a descriptor that reads and writes the state of the current key."""

    def __init__(self, kind: Kind, default: Any, ttl: Duration | None) -> None:
        self.kind = kind
        self.ttl = None if ttl is None else microseconds(ttl, where="state: ttl")
        self.name = ""
        self._default = default
        self.is_mutable = kind == "value" and ttl is not None and not isinstance(default, _IMMUTABLE)
        """True if the default can be changed in place, and then expires."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else instance._visit.read(self)

    def __set__(self, instance: Any, value: Any) -> None:
        instance._visit.write(self, value)

    def fresh(self, stamp: Callable[[], int]) -> Any:
        """Return the state of a key that has none."""
        if self.kind == "value":
            return self._default if isinstance(self._default, _IMMUTABLE) else copy.deepcopy(self._default)
        return self.hold([] if self.kind == "list" else {}, stamp)

    def hold(self, content: Any, stamp: Callable[[], int]) -> Any:
        """Return a list or dict that the user has assigned, as this state holds it."""
        if self.kind == "value":
            return content
        if self.ttl is None:
            return [*content] if self.kind == "list" else dict(content)
        return ExpiringList(content, stamp) if self.kind == "list" else ExpiringMap(content, stamp)

    def is_empty(self, content: Any) -> bool:
        """Return True if the content equals the default."""
        return bool(content == self._default) if self.kind == "value" else not content


@overload
def value(default: None = None, *, ttl: Duration | None = None) -> Any: ...
@overload
def value(default: T, *, ttl: Duration | None = None) -> T: ...
def value(default: Any = None, *, ttl: Duration | None = None) -> Any:
    """Declare one value per key.

    A plain value, a row, or a dataclass or pydantic model that the annotation names.

    Args:
        default: the value of a key that has none.
        ttl: expire it this long after it was last assigned; a change in place does not extend it.

    >>> from headrace import Processor, state
    >>> class Total(Processor):
    ...     total: float = state.value(0.0, ttl="1 day")
    >>> Total.cells["total"].kind
    'value'
    """
    return Cell("value", default, ttl)


def list(*, ttl: Duration | None = None) -> Any:  # noqa: A001 - read as state.list
    """Declare a list per key. With `ttl`, each element expires this long after it was added.

    >>> from headrace import Processor, state
    >>> class Recent(Processor):
    ...     recent: list[float] = state.list(ttl="1 hour")
    >>> Recent.cells["recent"].kind
    'list'
    """
    return Cell("list", None, ttl)


def map(*, ttl: Duration | None = None) -> Any:  # noqa: A001 - read as state.map
    """Declare a dict per key. With `ttl`, each entry expires this long after it was last set.

    >>> from headrace import Processor, state
    >>> class Countries(Processor):
    ...     by_country: dict[str, int] = state.map()
    >>> Countries.cells["by_country"].kind
    'map'
    """
    return Cell("map", None, ttl)
