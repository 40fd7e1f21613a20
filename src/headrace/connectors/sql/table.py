"""A stream as a table: plain columns, a key, and the effect of retractions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from headrace.connectors import flatten
from headrace.connectors.base import DELETED, WriteMode
from headrace.errors import DeliveryError, did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RETRACTION = "pane_retraction"
"""The column that marks retractions; a table with a key applies it instead of storing it."""

CHANGE = "change"
"""The struct that describes a change of a row (CDC); a table with a key applies it instead of storing it."""


@dataclass(frozen=True)
class Column:
    """A column of the stream, with its Spark type and its type in the database."""

    name: str
    kind: str
    declared: str


@dataclass(frozen=True)
class Table:
    """The table a sink writes: its name, columns and key."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    retracts: bool = False
    """True if rows of the stream may retract earlier ones."""

    @classmethod
    def from_schema(
        cls,
        name: str,
        schema: dict[str, Any],
        key: Sequence[str],
        column_type: Callable[[str, bool], str],
        *,
        where: str,
    ) -> Self:
        """Derive the table of a stream.

        Args:
            name: its name.
            schema: `frame.schema.jsonValue()`.
            key: the key columns; `window` stands for the window's columns.
            column_type: returns the column type for a Spark type and whether it is part of the key.
            where: the sink, for errors.

        Raises:
            DeliveryError: the key names a column that the stream lacks.
        """
        kinds = {column: _type_name(kind) for column, _, kind in flatten.columns(schema)}
        key_columns = tuple(part for word in key for part in _expand_window(word, kinds))
        for word in key_columns:
            if word not in kinds:
                hint = did_you_mean(word, [field["name"] for field in schema["fields"]])
                raise DeliveryError(f"unknown key column `{word}`", where=where, hint=hint)
        stored = {column: kind for column, kind in kinds.items() if not (key and column == RETRACTION)}
        columns = tuple(
            Column(column, kind, column_type(kind, column in key_columns)) for column, kind in stored.items()
        )
        return cls(name, columns, key_columns, bool(key) and RETRACTION in kinds)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def stage_columns(self) -> dict[str, str]:
        """The columns of staged rows, with their Spark types."""
        kinds = {column.name: column.kind for column in self.columns}
        return {**kinds, RETRACTION: "boolean"} if self.retracts else kinds

    @property
    def values(self) -> tuple[str, ...]:
        """The columns outside the key."""
        return tuple(name for name in self.names if name not in self.key)


def apply_changes(frame: DataFrame, key: Sequence[str]) -> DataFrame:
    """Turn deleted rows of a table or of a CDC stream into retractions, for a sink with a key."""
    if DELETED in frame.columns:
        return frame.withColumnRenamed(DELETED, RETRACTION)
    kind = frame.schema[CHANGE].dataType.jsonValue() if key and CHANGE in frame.columns else None
    if not isinstance(kind, dict) or not {"op", "lsn"} <= {part["name"] for part in kind.get("fields", ())}:
        return frame
    return frame.withColumn(RETRACTION, frame[CHANGE]["op"] == "delete").drop(CHANGE)


def mode_problem(mode: WriteMode, key: Sequence[str]) -> str:
    """Return the reason why a table cannot be written in a mode; empty if it can."""
    if mode == "update" and not key:
        return "rows are updated, so the sink needs `key`, the columns that identify a row"
    return ""


def _type_name(kind: Any) -> str:
    """Return the SQL name of a Spark type; `json` for types that are stored as JSON text."""
    if not isinstance(kind, str) or kind == "variant":
        return "json"
    return {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}.get(kind, kind)


def _expand_window(word: str, names: Iterable[str]) -> tuple[str, ...]:
    """Replace `window` in a key by its number, if it has one (its bounds may move), or start and end."""
    if word != "window" or word in names:
        return (word,)
    return ("window_number",) if "window_number" in names else ("window_start", "window_end")
