"""Lists and dicts whose elements expire."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

Stamp = Callable[[], int]
"""Returns the time from which the TTL of an element counts that is added now."""


class ExpiringList(list[Any]):
    """A list that records when each element was added."""

    def __init__(self, content: Iterable[Any], stamp: Stamp, stamps: Iterable[int] = ()) -> None:
        super().__init__(content)
        self.stamps = [*stamps] or [stamp()] * len(self)
        self._stamp = stamp

    def __setitem__(self, at: Any, item: Any) -> None:
        item = [*item] if isinstance(at, slice) else item
        super().__setitem__(at, item)
        self.stamps[at] = [self._stamp()] * len(item) if isinstance(at, slice) else self._stamp()

    def __delitem__(self, at: Any) -> None:
        super().__delitem__(at)
        del self.stamps[at]

    def __iadd__(self, items: Iterable[Any]) -> Self:  # type: ignore[misc]
        self.extend(items)
        return self

    def __imul__(self, times: Any) -> Self:  # type: ignore[misc]
        super().__imul__(times)
        self.stamps *= times
        return self

    def append(self, item: Any) -> None:
        super().append(item)
        self.stamps.append(self._stamp())

    def extend(self, items: Iterable[Any]) -> None:
        self[len(self) :] = items

    def insert(self, index: Any, item: Any) -> None:
        super().insert(index, item)
        self.stamps.insert(index, self._stamp())

    def pop(self, index: Any = -1) -> Any:
        item = super().pop(index)
        self.stamps.pop(index)
        return item

    def remove(self, item: Any) -> None:
        del self[self.index(item)]

    def clear(self) -> None:
        super().clear()
        self.stamps.clear()

    def reverse(self) -> None:
        super().reverse()
        self.stamps.reverse()

    def sort(self, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None:
        keys = [*self] if key is None else [*map(key, self)]
        self._keep(sorted(range(len(self)), key=keys.__getitem__, reverse=reverse))

    def expire(self, until: int) -> None:
        """Remove the elements that were added at `until` or before."""
        self._keep([at for at, stamp in enumerate(self.stamps) if stamp > until])

    def to_plain(self) -> list[Any]:
        """Return the elements as a plain list."""
        return [*self]

    def _keep(self, order: list[int]) -> None:
        """Keep the elements at these indexes, in this order."""
        super().__setitem__(slice(None), [self[at] for at in order])
        self.stamps = [self.stamps[at] for at in order]


class ExpiringMap(dict[Any, Any]):
    """A dict that records when each entry was last set."""

    def __init__(
        self, content: Mapping[Any, Any], stamp: Stamp, stamps: Mapping[Any, int] | None = None
    ) -> None:
        super().__init__(content)
        self.stamps = dict(stamps) if stamps is not None else dict.fromkeys(self, stamp())
        self._stamp = stamp

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.stamps[key] = self._stamp()

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(key)
        del self.stamps[key]

    def __ior__(self, other: Any) -> Self:  # type: ignore[misc]
        self.update(other)
        return self

    def update(self, *others: Any, **entries: Any) -> None:
        for key, value in dict(*others, **entries).items():
            self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: Any, *default: Any) -> Any:
        self.stamps.pop(key, None)
        return super().pop(key, *default)

    def popitem(self) -> tuple[Any, Any]:
        key, value = super().popitem()
        del self.stamps[key]
        return key, value

    def clear(self) -> None:
        super().clear()
        self.stamps.clear()

    def expire(self, until: int) -> None:
        """Remove the entries that were last set at `until` or before."""
        for key in [key for key, stamp in self.stamps.items() if stamp <= until]:
            del self[key]

    def to_plain(self) -> dict[Any, Any]:
        """Return the entries as a plain dict."""
        return {**self}
