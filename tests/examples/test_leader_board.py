"""The table of the leader board, in SQLite and as a batch, has the expected rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.examples_at_hand import Example, in_any_order, json_rows, rows_of

from headrace.lowering.frames import frame_of
from headrace.steps.base import Ref

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_table_has_the_leaders(example: Callable[[str], Example], spark: SparkSession) -> None:
    actual = example("leader_board")
    graph = actual.run("py")._plan()
    expected = json_rows(Path("expected.jsonl"))
    with closing(sqlite3.connect("board.db")) as database:
        database.row_factory = sqlite3.Row
        rows = [dict(row) for row in database.execute("select game, rank, player, score from board")]
    assert in_any_order(rows) == in_any_order(expected)
    batch = rows_of(frame_of(graph, graph.sinks[0].input, how="batch"))
    assert in_any_order(batch) == in_any_order(expected)
    assert graph.facts(Ref("leaders")).table_key == ("game", "rank")
