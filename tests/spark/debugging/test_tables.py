"""Queries over the committed state of a pipeline: latest rows, top-N, running aggregates, open windows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline
from headrace.debugging import tables
from headrace.debugging.tables import query_tables, read_table, table_names
from headrace.errors import OptionError
from headrace.plan.graph import Graph

SCRIPT = """
CREATE SOURCE bid (auction INT, price INT, ts TIMESTAMP, WATERMARK FOR ts AS ts)
  WITH (connector = 'files', path = 'in/', format = 'json');
CREATE TABLE lot (auction INT, price INT, ts TIMESTAMP, PRIMARY KEY (auction), WATERMARK FOR ts AS ts)
  WITH (connector = 'files', path = 'in/', format = 'json');
CREATE VIEW totals AS SELECT auction, count(*) AS n, sum(price) AS total FROM bid GROUP BY auction;
CREATE VIEW windows AS
  SELECT auction, sum(price) AS total FROM TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '1' MINUTE)
  GROUP BY auction, window_start, window_end;
CREATE VIEW dear AS SELECT auction, price FROM
  (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid) AS ranked WHERE place <= 2;
CREATE SINK a WITH (connector = 'memory', key = 'auction') AS SELECT auction, price FROM lot;
CREATE SINK b WITH (connector = 'memory', key = 'auction') AS SELECT * FROM totals;
CREATE SINK c WITH (connector = 'memory') AS SELECT * FROM windows;
CREATE SINK d WITH (connector = 'memory') AS SELECT * FROM dear;
"""
ROWS = [(1, 5, 1), (1, 9, 2), (1, 7, 3), (2, 4, 4), (None, 3, 5)]


@pytest.fixture(scope="module")
def checkpoint(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, Path]:
    """A plan and the checkpoint of a run that has read all rows, with its windows open."""
    place = tmp_path_factory.mktemp("tables")
    (place / "in").mkdir()
    lines = (
        f'{{"auction": {"null" if a is None else a}, "price": {p}, "ts": "2026-03-02T09:00:0{s}Z"}}\n'
        for a, p, s in ROWS
    )
    (place / "in" / "bids.json").write_text("".join(lines))
    pipeline = Pipeline.from_sql_text(SCRIPT.replace("'in/'", f"'{place}/in/'"), name="tables")
    pipeline.run(until="caught_up", checkpoint=place / "checkpoint", progress=False)
    return pipeline._plan(), place / "checkpoint"


def names_of(graph: Graph) -> dict[str, str]:
    return {name.partition(":")[0]: name for name in table_names(graph)}


def test_table_of_a_script_has_its_name(checkpoint: tuple[Graph, Path]) -> None:
    known = table_names(checkpoint[0])
    assert known["lot"] == "lot:latest"
    assert {"totals", "windows", "dear"} <= {name.partition(":")[0] for name in known}


def test_rows_of_latest_are_read_with_their_epoch(checkpoint: tuple[Graph, Path]) -> None:
    answer = query_tables(
        *checkpoint, "SELECT auction, price FROM lot WHERE auction IS NOT NULL ORDER BY auction"
    )
    assert answer.rows == [{"auction": 1, "price": 7}, {"auction": 2, "price": 4}]
    assert answer.epochs["lot"] is not None
    assert not answer.truncated


def test_rows_of_a_running_aggregate_are_read(checkpoint: tuple[Graph, Path]) -> None:
    answer = query_tables(*checkpoint, "select auction, n, total from Totals order by total desc")
    assert answer.rows == [
        {"auction": 1, "n": 3, "total": 21},
        {"auction": 2, "n": 1, "total": 4},
        {"auction": None, "n": 1, "total": 3},
    ]


def test_rows_of_top_n_are_read_with_their_rank(checkpoint: tuple[Graph, Path]) -> None:
    name = names_of(checkpoint[0])["dear"]
    rows = read_table(*checkpoint, name, key="1").rows
    ranked = {row.get("place", row.get("rank")): row["price"] for row in rows}
    assert ranked == {1: 9, 2: 7}


def test_open_windows_are_read(checkpoint: tuple[Graph, Path]) -> None:
    name = names_of(checkpoint[0])["windows"]
    [row] = read_table(*checkpoint, name, key="1").rows
    assert row["auction"] == 1
    assert row["window"]["start"] == "2026-03-02T09:00:00.000000Z"
    assert 21 in row.values()


def test_tables_are_joined_in_a_query(checkpoint: tuple[Graph, Path]) -> None:
    query = "WITH t AS (SELECT * FROM totals) SELECT t.n, l.price FROM t JOIN lot l ON t.auction = l.auction WHERE n > 1"
    answer = query_tables(*checkpoint, query)
    assert answer.rows == [{"n": 3, "price": 7}]
    assert set(answer.epochs) == {"totals", "lot"}


def test_answer_is_cut_at_the_limit_and_at_the_size(
    checkpoint: tuple[Graph, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = query_tables(*checkpoint, "SELECT * FROM totals", limit=2)
    assert (len(answer.rows), answer.truncated) == (2, True)
    monkeypatch.setattr(tables, "MAX_BYTES", 10)
    assert (query_tables(*checkpoint, "SELECT * FROM totals").rows, answer.truncated) == ([], True)


def test_error_of_spark_is_that_of_the_query(checkpoint: tuple[Graph, Path]) -> None:
    with pytest.raises(OptionError, match=r"query: .*nothing"):
        query_tables(*checkpoint, "SELECT nothing FROM totals")


def test_unknown_table_and_missing_key(checkpoint: tuple[Graph, Path]) -> None:
    with pytest.raises(OptionError, match="unknown table `total`"):
        read_table(*checkpoint, "total")
    assert read_table(*checkpoint, "totals", key="99").rows == []
