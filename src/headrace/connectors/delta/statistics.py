"""The statistics of a data file, by which readers of a Delta table skip files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

_MAX_TEXT = 256
"""Longer values are left out of the statistics."""


@dataclass
class _Range:
    """The smallest and largest value of a column, and the number of nulls."""

    nulls: int = 0
    values: list[Any] = field(default_factory=list)
    known: bool = True
    """False if the range of a row group is unknown."""

    def add(self, statistics: Any, rows: int) -> None:
        if statistics is None or not statistics.has_null_count:
            self.known = False
            return
        self.nulls += statistics.null_count
        if statistics.has_min_max:
            self.values += [statistics.min, statistics.max]
        elif statistics.null_count < rows:
            self.known = False


def file_statistics(metadata: Any) -> Mapping[str, Any]:
    """Return the statistics of a file: rows, and the ranges of columns that readers can compare."""
    ranges: dict[str, _Range] = {}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for index in range(group.num_columns):
            column = group.column(index)
            if "." not in column.path_in_schema:
                ranges.setdefault(column.path_in_schema, _Range()).add(column.statistics, group.num_rows)
    known = {name: part for name, part in ranges.items() if part.known}
    bounded = {name: part.values for name, part in known.items() if all(map(_is_ordered, part.values))}
    return {
        "numRecords": metadata.num_rows,
        "minValues": {name: _statistic(min(values)) for name, values in bounded.items() if values},
        "maxValues": {name: _statistic(max(values)) for name, values in bounded.items() if values},
        "nullCount": {name: part.nulls for name, part in known.items()},
    }


def _is_ordered(value: Any) -> bool:
    """True for values whose order is the same in Parquet and in every reader; floats may be NaN."""
    if isinstance(value, str):
        return len(value) <= _MAX_TEXT
    return isinstance(value, int | date) and not isinstance(value, bool)


def _statistic(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.strftime(f"%Y-%m-%dT%H:%M:%S.%f{'Z' if value.tzinfo else ''}")
    return value.isoformat() if isinstance(value, date) else value
