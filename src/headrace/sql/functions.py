"""Spark's built-in functions; `spark_functions.txt` lists those of the pinned Spark version."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def spark_functions() -> dict[str, bool]:
    """Return Spark's built-in functions by lower-case name; the value is true for aggregates.

    >>> spark_functions()["sum"], spark_functions()["upper"]
    (True, False)
    """
    lines = files(__package__).joinpath("spark_functions.txt").read_text(encoding="utf-8").splitlines()
    return {name: bool(kind) for name, _, kind in (line.partition(" ") for line in lines)}
