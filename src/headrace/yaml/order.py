"""The order in which steps can be built, each after what it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def ordered(reads: Mapping[str, Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """The names in the order they are given, but each after all it reads; and the cycles that make it impossible.

    A cycle begins and ends with the same name. Names that aren't among the keys are passed over.

    >>> ordered({"totals": ["big"], "big": ["tx"]})
    (['big', 'totals'], [])
    >>> ordered({"a": ["b"], "b": ["a"]})[1]
    [['a', 'b', 'a']]
    """
    done: list[str] = []
    cycles: list[list[str]] = []
    finished: set[str] = set()
    for start in reads:
        trail: list[tuple[str, list[str]]] = []
        _enter(start, trail, reads, finished)
        while trail:
            name, left = trail[-1]
            if not left:
                trail.pop()
                finished.add(name)
                done.append(name)
                continue
            following, path = left.pop(0), [step for step, _ in trail]
            if following in path:
                cycles.append([*path[path.index(following) :], following])
            else:
                _enter(following, trail, reads, finished)
    return done, cycles


def _enter(
    name: str, trail: list[tuple[str, list[str]]], reads: Mapping[str, Sequence[str]], finished: set[str]
) -> None:
    if name in reads and name not in finished:
        trail.append((name, list(reads[name])))
