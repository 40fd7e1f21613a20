"""A query with `MATCH_RECOGNIZE`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.sql.match_recognize.clause import MatchRecognize
from headrace.sql.match_recognize.input_query import InputQuery
from headrace.steps.base import MAIN, Node, Ref


@dataclass(frozen=True)
class RowPattern(Node):
    """A query with `MATCH_RECOGNIZE`: the clause over a stream, and the rest of the query over its matches."""

    input: Ref
    table: str
    """What the query calls the stream, and `rest` the matches."""
    query: str
    rest: str
    clause: MatchRecognize
    input_query: InputQuery | None = None
    """What the query chooses of the stream before the clause."""
    verb: ClassVar[str] = "match_recognize"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late")
