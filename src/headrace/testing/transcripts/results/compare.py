"""Match expected rows with actual rows, and describe the differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.errors import did_you_mean
from headrace.testing.transcripts.results.outputs import Output, Pairs, matches, show

Expected = Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """The mismatches of an output: missing rows and unexpected rows."""

    output: str
    missing: tuple[Expected, ...]
    extra: tuple[Output, ...]
    expected: tuple[Expected, ...]
    actual: tuple[Output, ...]

    def __str__(self) -> str:
        lines = [f"{self.output}: expected {_rows(self.expected)}, {_rows(self.actual)} came"]
        left = list(self.extra)
        for row in self.missing:
            lines.append(f"  missing     {show(row)}")
            if left:
                nearest = min(left, key=lambda candidate: _distance(row, candidate))
                left.remove(nearest)
                lines += [f"  came        {show(nearest)}", *_mark_types(row, nearest)]
        lines += [f"  unexpected  {show(row)}" for row in left]
        return "\n".join(lines)


def compare(output: str, expected: Sequence[Expected], actual: Sequence[Output]) -> Difference | None:
    """Return the difference between two lists of rows, in any order; None if they match.

    An expected row can match several actual rows, so a maximum matching is computed.
    """
    partners = _pairing(expected, actual)
    missing = tuple(row for i, row in enumerate(expected) if i not in partners)
    extra = tuple(row for j, row in enumerate(actual) if j not in partners.values())
    if not missing and not extra:
        return None
    return Difference(output, missing, extra, tuple(expected), tuple(actual))


def _pairing(expected: Sequence[Expected], actual_rows: Sequence[Output]) -> dict[int, int]:
    """Return the index of the actual row of each expected row (maximum matching by augmenting paths)."""
    fits = [[j for j, actual in enumerate(actual_rows) if matches(row, actual)] for row in expected]
    owner: dict[int, int] = {}

    def place(i: int, tried: set[int]) -> bool:
        for j in fits[i]:
            if j not in tried:
                tried.add(j)
                if j not in owner or place(owner[j], tried):
                    owner[j] = i
                    return True
        return False

    for i in range(len(expected)):
        place(i, set())
    return {i: j for j, i in owner.items()}


def _distance(expected: Any, actual: Any) -> float:
    """Return the share of columns that differ; structs are compared by field."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping) and expected:
        return sum(_distance(expected[name], actual.get(name)) for name in expected) / len(expected)
    return 0.0 if matches(expected, actual) else 1.0


def _mark_types(expected: Expected, actual: Output) -> list[str]:
    return [f"  {'':10}  ^ {line}" for line in _differing(expected, actual, "")]


def _differing(expected: Mapping[str, Any], actual: Mapping[str, Any], path: str) -> list[str]:
    lines: list[str] = []
    for name, value in expected.items():
        place = f"{path}{name}"
        if name not in actual:
            lines.append(f"unknown column `{place}`: {did_you_mean(name, actual)}")
        elif isinstance(value, Mapping) and isinstance(actual[name], Mapping):
            lines += _differing(value, actual[name], f"{place}.")
        elif not matches(value, actual[name]):
            lines.append(
                f"{place}: expected {show(value)}, got {show(actual[name])}{_types(value, actual[name])}"
            )
    return lines


def _types(expected: Any, actual: Any) -> str:
    """Return the types of two values with equal text."""
    if show(expected) != show(actual) or isinstance(actual, Pairs):
        return ""
    return f" ({type(actual).__name__}, not {type(expected).__name__})"


def _rows(rows: Sequence[object]) -> str:
    return f"{len(rows)} row" if len(rows) == 1 else f"{len(rows) or 'no'} rows"
