"""Output rows as values, and how an expected row is compared with one."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from headrace.durations import NEAR_EPOCH, format_seconds, microseconds
from headrace.errors import DurationError
from headrace.testing.transcripts.values import iso, micros_of_plain

TOLERANCE = 1e-9
"""Relative tolerance of floating-point numbers."""


@dataclass(frozen=True, order=True)
class Instant:
    """A timestamp in microseconds since 1970."""

    micros: int

    def __str__(self) -> str:
        return format_seconds(self.micros) if abs(self.micros) < NEAR_EPOCH else iso(self.micros)


@dataclass(frozen=True, order=True)
class Length:
    """A duration in microseconds."""

    micros: int

    def __str__(self) -> str:
        return format_seconds(self.micros)


@dataclass(frozen=True)
class Pairs:
    """A map; all of its keys are compared, unlike the fields of a struct."""

    content: Mapping[str, Any]


Output = Mapping[str, Any]


def rows_of(schema: Mapping[str, Any], rows: Sequence[Sequence[Any]]) -> list[Output]:
    """Convert collected rows to values by their schema."""
    return [_read(row, schema) for row in rows]


def matches(expected: Any, actual: Any) -> bool:
    """Return true if a value matches; only the named fields of structs are compared."""
    if type(expected) is type(actual) and expected == actual:
        return True
    if isinstance(actual, Pairs):
        return isinstance(expected, Mapping) and _same_pairs(expected, actual.content)
    if isinstance(expected, Mapping):
        return isinstance(actual, Mapping) and all(
            name in actual and matches(value, actual[name]) for name, value in expected.items()
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(matches(item, other) for item, other in zip(expected, actual, strict=True))
        )
    return _same_scalar(expected, actual)


def show(value: Any) -> str:
    """Format a value as in a script."""
    if isinstance(value, Pairs):
        return show(value.content)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {show(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(show, value))}]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, bytes):
        return repr(value.decode(errors="replace"))
    return str(value)


def _same_pairs(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> bool:
    texts = {str(key): value for key, value in expected.items()}
    return texts.keys() == actual.keys() and all(matches(texts[key], actual[key]) for key in actual)


def _same_scalar(expected: Any, actual: Any) -> bool:
    if expected is None or actual is None:
        return expected is actual
    same = next((same for kind, same in _SAME if isinstance(actual, kind)), None)
    # `k: 1` matches the text "1", as in a row of a script
    return show(expected) == str(actual) if same is None else same(expected, actual)


def _same_number(expected: Any, actual: float | Decimal) -> bool:
    if isinstance(expected, bool) or (isinstance(expected, str) and not isinstance(actual, Decimal)):
        return False
    if isinstance(actual, float):
        near = math.isclose(float(expected), actual, rel_tol=TOLERANCE, abs_tol=0.0)
        return near or (math.isnan(actual) and math.isnan(float(expected)))
    try:
        return Decimal(str(expected)) == actual
    except InvalidOperation:
        return False


def _length(expected: Any) -> int | None:
    if isinstance(expected, str):
        try:
            return microseconds(expected)
        except DurationError:
            return None
    return micros_of_plain(expected)


def _read(value: Any, kind: Any) -> Any:
    """Convert a JSON value of the kernel: structs and maps are lists (`RowJson`) or objects (the driver)."""
    if value is None:
        return None
    if isinstance(kind, Mapping):
        return _read_nested(value, kind)
    reader = _READERS.get(re.split(r"[( ]", kind)[0])
    return value if reader is None else reader(value)


def _read_nested(value: Any, kind: Mapping[str, Any]) -> Any:
    if kind["type"] == "struct":
        names = [field["name"] for field in kind["fields"]]
        inside = [value.get(name) for name in names] if isinstance(value, Mapping) else value
        return {f["name"]: _read(inner, f["type"]) for f, inner in zip(kind["fields"], inside, strict=True)}
    if kind["type"] == "array":
        return [_read(item, kind["elementType"]) for item in value]
    if kind["type"] == "map":
        pairs = value.items() if isinstance(value, Mapping) else value
        return Pairs({show(_read(k, kind["keyType"])): _read(v, kind["valueType"]) for k, v in pairs})
    return _read(value, kind["sqlType"])  # a user-defined type as its storage type


def _date(value: str) -> date | str:
    return date.fromisoformat(value) if len(value) == 10 else value  # a year of five digits remains text


_SAME: tuple[tuple[type | tuple[type, ...], Callable[[Any, Any], bool]], ...] = (
    (Instant, lambda expected, actual: micros_of_plain(expected) == actual.micros),
    (Length, lambda expected, actual: _length(expected) == actual.micros),
    (date, lambda expected, actual: str(expected) == actual.isoformat()),
    (bytes, lambda expected, actual: str(expected).encode() == actual),
    (bool, lambda expected, actual: expected is actual),
    ((int, float, Decimal), _same_number),
)
_READERS: dict[str, Callable[[Any], Any]] = {
    "decimal": lambda value: Decimal(str(value)),
    "interval": lambda value: Length(value) if isinstance(value, int) else value,
    "timestamp": Instant,
    "timestamp_ntz": Instant,
    "float": float,
    "double": float,
    "date": _date,
    "binary": base64.b64decode,
}
