"""Parquet: files of typed rows, which need no decoding."""

from __future__ import annotations

from typing import ClassVar

from headrace.formats.base import Format


class Parquet(Format):
    """Parquet files; their rows have columns and types, so a schema only selects columns."""

    name: ClassVar[str] = "parquet"
    of_rows: ClassVar[bool] = True
