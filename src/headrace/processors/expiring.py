"""Lists and dicts whose elements expire."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from typing import Any


class ExpiringList(MutableSequence[Any]):
    """A list that records when each element was added."""

    def __init__(self, content: Iterable[Any], stamp: Callable[[], int], stamps: Iterable[int] = ()) -> None:
        self.content = [*content]
        self.stamps = [*stamps] or [stamp()] * len(self.content)
        self._stamp = stamp

    def __getitem__(self, at: Any) -> Any:
        return self.content[at]

    def __setitem__(self, at: Any, item: Any) -> None:
        self.content[at] = item
        self.stamps[at] = [self._stamp()] * len(self.content[at]) if isinstance(at, slice) else self._stamp()

    def __delitem__(self, at: Any) -> None:
        del self.content[at]
        del self.stamps[at]

    def __len__(self) -> int:
        return len(self.content)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.content)

    def insert(self, index: int, value: Any) -> None:
        self.content.insert(index, value)
        self.stamps.insert(index, self._stamp())

    def __eq__(self, other: object) -> bool:
        return self.content == (other.content if isinstance(other, ExpiringList) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.content)

    def expire(self, until: int) -> None:
        """Remove the elements that were added at `until` or before."""
        alive = [at for at, stamp in enumerate(self.stamps) if stamp > until]
        self.content = [self.content[at] for at in alive]
        self.stamps = [self.stamps[at] for at in alive]


class ExpiringMap(MutableMapping[Any, Any]):
    """A dict that records when each entry was last set."""

    def __init__(
        self, content: Mapping[Any, Any], stamp: Callable[[], int], stamps: Mapping[Any, int] | None = None
    ) -> None:
        self.content = dict(content)
        self.stamps = dict(stamps) if stamps is not None else dict.fromkeys(self.content, stamp())
        self._stamp = stamp

    def __getitem__(self, key: Any) -> Any:
        return self.content[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.content[key] = value
        self.stamps[key] = self._stamp()

    def __delitem__(self, key: Any) -> None:
        del self.content[key]
        del self.stamps[key]

    def __len__(self) -> int:
        return len(self.content)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.content)

    def __repr__(self) -> str:
        return repr(self.content)

    def expire(self, until: int) -> None:
        """Remove the entries that were last set at `until` or before."""
        for key in [key for key, stamp in self.stamps.items() if stamp <= until]:
            del self[key]
