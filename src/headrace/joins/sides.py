"""Pack the rows of two inputs in one frame, and unpack the columns of results.

A row of the packed frame has its columns in the struct `left` or `right`; the other struct is null. All rows
have the key columns `__key0`, `__key1`, ..., the event time `__ts` and the arrival order `__position`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, NumericType, StructType

from headrace.errors import PlanError, Problem
from headrace.lowering.event_times import AHEAD
from headrace.lowering.expressions import HIDDEN, POSITION, TIME, column, position_column, visible_columns
from headrace.steps.facts import LATE_COLUMNS, duplicates, late_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from headrace.joins.declare import On, TwoInputs

LEFT, RIGHT = "left", "right"
SIDES = (LEFT, RIGHT)
_ROW = "row"


def key_names(count: int) -> list[str]:
    """Return the names of the key columns of a packed frame."""
    return [f"{HIDDEN}key{number}" for number in range(count)]


def pack_sides(
    left: DataFrame, right: DataFrame, left_keys: Sequence[Column], right_keys: Sequence[Column]
) -> DataFrame:
    """Return the rows of both frames, tagged with their side; keys of different types are widened."""
    rows, others = _pack(left, left_keys), _pack(right, right_keys)
    common = [name for name in rows.columns if name != _ROW]
    return rows.select(F.col(_ROW).alias(LEFT), _absent(others).alias(RIGHT), *common).unionByName(
        others.select(_absent(rows).alias(LEFT), F.col(_ROW).alias(RIGHT), *common)
    )


def _pack(frame: DataFrame, keys: Sequence[Column]) -> DataFrame:
    names = key_names(len(keys))
    return frame.select(
        F.struct(*visible_columns(frame)).alias(_ROW),
        *(key.alias(name) for key, name in zip(keys, names, strict=True)),
        F.col(TIME),
        position_column(frame).alias(POSITION),
        F.col(AHEAD) if AHEAD in frame.columns else F.lit(False).alias(AHEAD),
    )


def _absent(packed: DataFrame) -> Column:
    """Return a null with the type of the rows of the other side."""
    return F.lit(None).cast(packed.schema[_ROW].dataType)


def late_rows(rows: DataFrame) -> DataFrame:
    """Return late rows with the columns of both sides, matched by name as in a union."""
    left, right = (_fields(rows, side) for side in SIDES)
    names = list(dict.fromkeys([*left, *right]))
    columns = [_coalesce_sides(name, left.get(name), right.get(name)).alias(name) for name in names]
    flat = rows.select(*columns, *(F.col(name) for name in LATE_COLUMNS))
    return flat.toDF(*late_columns(names))


def _coalesce_sides(name: str, left: DataType | None, right: DataType | None) -> Column:
    """Return a column of either side; as text if the types of the sides differ and are not both numeric."""
    own = [F.col(f"{side}.`{name}`") for side, kind in ((LEFT, left), (RIGHT, right)) if kind is not None]
    numbers = isinstance(left, NumericType) and isinstance(right, NumericType)
    if len(own) == 2 and left != right and not numbers:
        own = [column.cast("string") for column in own]
    return F.coalesce(*own)


def _fields(rows: DataFrame, side: str) -> dict[str, DataType]:
    kind = rows.schema[side].dataType
    assert isinstance(kind, StructType)
    return {field.name: field.dataType for field in kind.fields}


def side_columns(rows: DataFrame, side: str) -> list[str]:
    """Return the names of the columns of one side of pairs."""
    return list(_fields(rows, side))


def pair_columns(rows: DataFrame, node: TwoInputs, keys: On) -> dict[str, Column]:
    """Return the result columns of pairs in the structs `left` and `right`.

    A key column of `keys` has the value of the right row if there is no left one.

    Raises:
        PlanError: a column exists on both sides and the join has no `select`.
    """
    if node.select is not None:
        return {name: column(item) for name, item in node.select}
    left = side_columns(rows, LEFT)
    names = node.result_columns(left, side_columns(rows, RIGHT)) or ()
    if clash := duplicates(names):
        raise PlanError(
            [Problem(f"`{node.name}`", f"two columns are called `{clash[0]}`", node.duplicate_hint)]
        )
    partners = {key.lower(): other for key, other in keys}
    return {
        name: _left_column(name, partners.get(name.lower())) if name in left else F.col(f"{RIGHT}.`{name}`")
        for name in names
    }


def _left_column(name: str, partner: str | None) -> Column:
    own = F.col(f"{LEFT}.`{name}`")
    return own if partner is None else F.coalesce(own, F.col(f"{RIGHT}.`{partner}`"))
