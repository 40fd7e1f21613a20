"""State whose elements expire: complete lists and dicts, and values that are changed in place."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from headrace import Processor, state
from headrace.processors.expiring import ExpiringList, ExpiringMap
from headrace.testing import processor

LISTS: dict[str, Callable[[Any], Any]] = {
    "append": lambda items: items.append(9),
    "extend": lambda items: items.extend(iter([8, 9])),
    "extend with itself": lambda items: items.extend(items),
    "add in place": lambda items: items.__iadd__([8, 9]),
    "repeat in place": lambda items: items.__imul__(2),
    "insert": lambda items: items.insert(-1, 9),
    "pop": lambda items: items.pop(),
    "pop first": lambda items: items.pop(0),
    "remove": lambda items: items.remove(1),
    "clear": lambda items: items.clear(),
    "reverse": lambda items: items.reverse(),
    "sort": lambda items: items.sort(),
    "sort by key": lambda items: items.sort(key=lambda n: -n % 3, reverse=True),
    "set": lambda items: items.__setitem__(1, 9),
    "set a longer slice": lambda items: items.__setitem__(slice(1, 2), [7, 8, 9]),
    "set every other": lambda items: items.__setitem__(slice(None, None, 2), [8, 9]),
    "delete": lambda items: items.__delitem__(0),
    "delete a slice": lambda items: items.__delitem__(slice(None, -1)),
    "copy": lambda items: items.copy(),
    "add": lambda items: operator.add(items, [9]),
    "add to a list": lambda items: operator.add([9], items),
    "repeat": lambda items: items * 2,
    "compare": lambda items: (items == [3, 1, 2], items < [4], 3 in items, items.count(1)),
    "show": repr,
}
MAPS: dict[str, Callable[[Any], Any]] = {
    "set": lambda entries: entries.__setitem__("a", 9),
    "set another": lambda entries: entries.__setitem__("z", 9),
    "update": lambda entries: entries.update({"a": 8}, z=9),
    "update from pairs": lambda entries: entries.update([("z", 9)]),
    "merge in place": lambda entries: entries.__ior__({"z": 9}),
    "set a default": lambda entries: (entries.setdefault("a", 9), entries.setdefault("z", 9)),
    "pop": lambda entries: (entries.pop("a"), entries.pop("z", None)),
    "pop the last": lambda entries: entries.popitem(),
    "delete": lambda entries: entries.__delitem__("a"),
    "clear": lambda entries: entries.clear(),
    "copy": lambda entries: entries.copy(),
    "merge": lambda entries: (entries | {"z": 9}, {"z": 9} | entries),
    "compare": lambda entries: (entries == {"a": 1, "b": 2}, "a" in entries, entries.get("z")),
    "show": repr,
}


@pytest.mark.parametrize("change", LISTS)
def test_an_expiring_list_does_what_a_list_does(change: str) -> None:
    clock = count(100)
    plain, expiring = [3, 1, 2], ExpiringList([3, 1, 2], lambda: next(clock), [3, 1, 2])
    assert LISTS[change](plain) == LISTS[change](expiring)
    assert expiring == plain
    assert len(expiring.stamps) == len(plain)
    kept = [item for item, stamp in zip(expiring, expiring.stamps, strict=True) if stamp < 100]
    assert kept == [stamp for stamp in expiring.stamps if stamp < 100]  # an element keeps its time


@pytest.mark.parametrize("change", MAPS)
def test_an_expiring_map_does_what_a_dict_does(change: str) -> None:
    plain, expiring = {"a": 1, "b": 2}, ExpiringMap({"a": 1, "b": 2}, lambda: 100, {"a": 1, "b": 2})
    assert MAPS[change](plain) == MAPS[change](expiring)
    assert expiring == plain
    assert expiring.stamps.keys() == plain.keys()
    assert all(expiring.stamps[key] == (plain[key] if plain[key] < 8 else 100) for key in plain)


class Held(Processor):
    """Holds each value in three ways, all changed in place."""

    output = "n int"
    value: list[int] = state.value([], ttl="10 seconds")
    items: list[int] = state.list(ttl="10 seconds")
    entries: dict[str, int] = state.map(ttl="10 seconds")

    def process(self, row: Any) -> Iterator[Any]:
        self.value.append(row.v)
        self.items += [row.v]
        self.entries |= {str(row.v): row.v}
        yield from ()


def test_state_that_is_changed_in_place_expires() -> None:
    harness = processor(Held, key="k")
    harness.rows([{"k": "a", "v": 1, "ts": 100}], time="ts")
    harness.rows([{"k": "a", "v": 2, "ts": 105}], time="ts")
    both = {"value": [1, 2], "items": [1, 2], "entries": {"1": 1, "2": 2}}
    assert harness.state("a") == both
    harness.watermark(109)
    assert harness.state("a") == both
    harness.watermark(110)
    assert harness.state("a") == {"items": [2], "entries": {"2": 2}}
    harness.watermark(115)
    assert harness.state("a") == {}


def test_a_value_that_equals_its_default_has_no_time() -> None:
    class Reads(Held):
        def process(self, row: Any) -> Iterator[Any]:
            if row.v and not self.value:
                self.value.append(row.v)
            yield from ()

    harness = processor(Reads, key="k")
    harness.rows([{"k": "a", "v": 0, "ts": 100}, {"k": "a", "v": 1, "ts": 107}], time="ts")
    harness.watermark(116)
    assert harness.state("a") == {"value": [1]}
    harness.watermark(117)
    assert harness.state("a") == {}


def test_a_value_that_gains_a_ttl_expires_that_long_after_its_next_visit() -> None:
    class Kept(Held):
        value: list[int] = state.value([])

    before, after = processor(Kept, key="k"), processor(Held, key="k")
    before.rows([{"k": "a", "v": 1, "ts": 100}], time="ts")
    after._stored.update(before._stored)
    after.watermark(200)
    after.rows([{"k": "a", "v": 2, "ts": 205}], time="ts")
    after.watermark(209)
    assert after.state("a")["value"] == [1, 2]
    after.watermark(210)
    assert "value" not in after.state("a")
