"""Tables by brute force: after every micro-batch the result is computed again from the rows so far.

A changelog is checked by its effect: its rows are applied to a bag, in which a removed row must be present, and
the bag must equal the result. Times are whole seconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

REMOVES = ("update_before", "delete")


@dataclass(frozen=True)
class Put:
    """A row of a table; `value` is None if it removes its key `id`."""

    id: int
    group: str | None
    value: int | None
    time: int


@dataclass(frozen=True)
class Change:
    """A row of a changelog."""

    row: Put
    label: str


def changelog(table: dict[int, Put], puts: Iterable[Put]) -> list[Change]:
    """Apply rows to a table, in order of arrival, and return its changes."""
    changes = []
    for put in puts:
        last = table.pop(put.id, None)
        if put.value is not None:
            table[put.id] = put
        if last is not None and put.value is not None:
            changes += [Change(last, "update_before"), Change(put, "update_after")]
        elif last is not None:
            changes.append(Change(last, "delete"))
        elif put.value is not None:
            changes.append(Change(put, "insert"))
    return changes


def latest(puts: Sequence[Put]) -> dict[int, Put]:
    """Return the table of `latest`: of each key the row with the highest time, of equal times the last."""
    best: dict[int, Put] = {}
    for put in puts:
        if put.id not in best or put.time >= best[put.id].time:
            best[put.id] = put
    return {key: put for key, put in best.items() if put.value is not None}


def apply(bag: Counter[Any], changes: Iterable[tuple[Any, str]]) -> None:
    """Apply the changes of a micro-batch to a bag of rows; a row that is removed must be there."""
    for row, label in changes:
        bag[row] += -1 if label in REMOVES else 1
    assert all(number >= 0 for number in bag.values()), bag
    for row in [row for row, number in bag.items() if number == 0]:
        del bag[row]


def top(rows: Iterable[Put], n: int) -> Counter[Any]:
    """Return the first rows of each group by value, descending, then by id."""
    groups: dict[Any, list[Put]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    return Counter(
        (group, row.id, row.value, rank)
        for group, members in groups.items()
        for rank, row in enumerate(sorted(members, key=lambda row: (-(row.value or 0), row.id))[:n], 1)
    )


Condition = Callable[[Put, Put], bool]


def join(
    left: Iterable[Put],
    right: Iterable[Put],
    *,
    how: str,
    where: Condition | None = None,
    by_group: bool = True,
) -> Counter[Any]:
    """Return the pairs of rows with the same group, as ids and values; or of all rows, without groups."""
    rows, partners = list(left), list(right)
    result: Counter[Any] = Counter()
    single = set(range(len(partners)))
    for row in rows:
        own = [number for number, other in enumerate(partners) if _matches(row, other, where, by_group)]
        single -= set(own)
        if how in ("semi", "anti"):
            result[(row.id, row.value)] += bool(own) == (how == "semi")
            continue
        for number in own:
            result[(row.id, row.value, partners[number].id, partners[number].value)] += 1
        if how in ("left", "full") and not own:
            result[(row.id, row.value, None, None)] += 1
    if how in ("right", "full"):
        result.update((None, None, partners[number].id, partners[number].value) for number in single)
    return +result


def _matches(row: Put, other: Put, where: Condition | None, by_group: bool) -> bool:
    same = not by_group or (row.group is not None and row.group == other.group)
    return same and (where is None or where(row, other))


def version_at(versions: Sequence[Put], time: int) -> Put | None:
    """Return the version that is valid at a time, of those of one key in order of arrival."""
    known = [(put.time, number) for number, put in enumerate(versions) if put.time <= time]
    if not known:
        return None
    put = versions[max(known)[1]]
    return None if put.value is None else put


def aggregates(rows: Iterable[Put]) -> dict[Any, tuple[Any, ...]]:
    """Return the number of rows, sum, mean, maximum, number of distinct values and all values of each group."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row.value or 0)
    return {
        group: (len(v), sum(v), sum(v) / len(v), max(v), len(set(v)), tuple(sorted(v)))
        for group, v in groups.items()
    }
