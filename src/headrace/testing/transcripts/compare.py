"""Expected rows against rows that came: the best pairing, and what to say when there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.errors import did_you_mean
from headrace.testing.transcripts.outputs import Output, Pairs, matches, show

Expected = Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """What of an output did not match: expected rows that didn't come, and rows that came unexpected."""

    output: str
    missing: tuple[Expected, ...]
    extra: tuple[Output, ...]
    expected: tuple[Expected, ...]
    came: tuple[Output, ...]

    def __str__(self) -> str:
        lines = [f"{self.output}: expected {_rows(self.expected)}, {_rows(self.came)} came"]
        left = list(self.extra)
        for row in self.missing:
            lines.append(f"  missing     {show(row)}")
            if left:
                nearest = min(left, key=lambda candidate: _distance(row, candidate))
                left.remove(nearest)
                lines += [f"  came        {show(nearest)}", *_marked(row, nearest)]
        lines += [f"  unexpected  {show(row)}" for row in left]
        return "\n".join(lines)


def compare(output: str, expected: Sequence[Expected], came: Sequence[Output]) -> Difference | None:
    """The difference between the rows, each counted as often as it stands there; None if there is none.

    The order doesn't matter. An expected row may match several that came, so the pairing is the largest there is, not
    the first that offers itself.
    """
    partners = _pairing(expected, came)
    missing = tuple(row for i, row in enumerate(expected) if i not in partners)
    extra = tuple(row for j, row in enumerate(came) if j not in partners.values())
    if not missing and not extra:
        return None
    return Difference(output, missing, extra, tuple(expected), tuple(came))


def _pairing(expected: Sequence[Expected], came: Sequence[Output]) -> dict[int, int]:
    """For each expected row the number of the row it is paired with; grown along alternating paths."""
    fits = [[j for j, actual in enumerate(came) if matches(row, actual)] for row in expected]
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
    """How far a row is from the expected one: the part of its columns that differ, structs by their fields."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping) and expected:
        return sum(_distance(expected[name], actual.get(name)) for name in expected) / len(expected)
    return 0.0 if matches(expected, actual) else 1.0


def _marked(expected: Expected, actual: Output) -> list[str]:
    return [f"  {'':10}  ^ {line}" for line in _differing(expected, actual, "")]


def _differing(expected: Mapping[str, Any], actual: Mapping[str, Any], path: str) -> list[str]:
    lines: list[str] = []
    for name, value in expected.items():
        place = f"{path}{name}"
        if name not in actual:
            lines.append(f"there is no column `{place}`: {did_you_mean(name, actual)}")
        elif isinstance(value, Mapping) and isinstance(actual[name], Mapping):
            lines += _differing(value, actual[name], f"{place}.")
        elif not matches(value, actual[name]):
            lines.append(
                f"{place}: expected {show(value)}, got {show(actual[name])}{_types(value, actual[name])}"
            )
    return lines


def _types(expected: Any, actual: Any) -> str:
    """Where both would look alike, say what they are."""
    if show(expected) != show(actual) or isinstance(actual, Pairs):
        return ""
    return f" ({type(actual).__name__}, not {type(expected).__name__})"


def _rows(rows: Sequence[object]) -> str:
    return f"{len(rows)} row" if len(rows) == 1 else f"{len(rows) or 'no'} rows"
