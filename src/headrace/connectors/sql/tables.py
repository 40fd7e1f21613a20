"""What a stream looks like as a table: plain columns, a key, and what the last row of a key does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from headrace.connectors import flatten as flat
from headrace.connectors.base import WriteMode
from headrace.errors import DeliveryError, did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RETRACTION = "pane_retraction"
"""The column that tells retractions; in a table with a key it is applied, not stored."""

CHANGE = "change"
"""The struct that tells what happened to a row; in a table with a key it is applied, not stored."""


@dataclass(frozen=True)
class Column:
    """A column of the stream: what Spark calls its type, and what the database does."""

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
    """Whether the stream's rows may take back earlier ones."""

    @classmethod
    def of(
        cls,
        name: str,
        schema: dict[str, Any],
        key: Sequence[str],
        declare: Callable[[str, bool], str],
        *,
        where: str,
    ) -> Self:
        """The table for a stream, from Spark's JSON form of its schema.

        Args:
            name: its name.
            schema: `frame.schema.jsonValue()`.
            key: the columns that tell rows apart; `window` stands for the window's columns.
            declare: the database's type for one of Spark's, and whether the column is part of the key.
            where: the sink, for messages.

        Raises:
            DeliveryError: the key names a column that the stream lacks.
        """
        kinds = {column: _kind(kind) for column, _, kind in flat.columns(schema)}
        spread = tuple(part for word in key for part in _spread(word, kinds))
        for word in spread:
            if word not in kinds:
                hint = did_you_mean(word, [field["name"] for field in schema["fields"]])
                raise DeliveryError(f"there is no column `{word}` for the key", where=where, hint=hint)
        stored = {column: kind for column, kind in kinds.items() if not (key and column == RETRACTION)}
        columns = tuple(
            Column(column, kind, declare(kind, column in spread)) for column, kind in stored.items()
        )
        return cls(name, columns, spread, bool(key) and RETRACTION in kinds)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def loaded(self) -> dict[str, str]:
        """The columns of the rows that are loaded, with Spark's names of their types."""
        kinds = {column.name: column.kind for column in self.columns}
        return {**kinds, RETRACTION: "boolean"} if self.retracts else kinds

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that aren't part of the key."""
        return tuple(name for name in self.names if name not in self.key)


def applied(frame: DataFrame, key: Sequence[str]) -> DataFrame:
    """Changes of a table for a sink with a key: a deleted row is taken back as a retraction is."""
    kind = frame.schema[CHANGE].dataType.jsonValue() if key and CHANGE in frame.columns else None
    if not isinstance(kind, dict) or not {"op", "lsn"} <= {part["name"] for part in kind.get("fields", ())}:
        return frame
    return frame.withColumn(RETRACTION, frame[CHANGE]["op"] == "delete").drop(CHANGE)


def refused(mode: WriteMode, key: Sequence[str]) -> str:
    """Why a table can't take rows in a mode; empty where it can."""
    if mode == "update" and not key:
        return "`update` overwrites rows, so the sink needs `key`, the columns that tell rows apart"
    return ""


def _kind(kind: Any) -> str:
    """Spark's name of a type as users write it; `json` for what becomes JSON text."""
    if not isinstance(kind, str) or kind == "variant":
        return "json"
    return {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}.get(kind, kind)


def _spread(word: str, names: Iterable[str]) -> tuple[str, ...]:
    """`window` in a key: the number where windows are numbered (their bounds still move), else start and end."""
    if word != "window" or word in names:
        return (word,)
    return ("window_number",) if "window_number" in names else ("window_start", "window_end")
