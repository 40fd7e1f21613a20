"""Every command that takes a pipeline takes a script of SQL statements."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace import Pipeline
from headrace.errors import DocumentError

Call = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[[str, str], Path]

SOURCE = """CREATE SOURCE bid (auction BIGINT, price INT, ts TIMESTAMP,
                   WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
  WITH (connector = 'files', path = 'in/*.json', format = 'json');
"""
SINK = "CREATE SINK out (auction BIGINT, n BIGINT, PRIMARY KEY (auction)) WITH (connector = 'sqlite', path = 's.db', table = 't')"
SCRIPT = f"{SOURCE}{SINK};\nINSERT INTO out SELECT auction, count(*) AS n FROM bid GROUP BY auction;\n"
WRONG = f"""{SOURCE}{SINK};
CREATE VIEW a AS SELECT auctoin FROM bid;
CREATE VIEW b AS SELECT nosuch(price) FROM bid;
INSERT INTO out SELECT auction, count(*) AS n FROM bid GROUP BY auction;
"""
PATTERN = """CREATE VIEW falls AS SELECT * FROM bid MATCH_RECOGNIZE (PARTITION BY auction ORDER BY ts
  MEASURES last(down.price) AS price PATTERN (down{2,}) DEFINE down AS down.price < prev(down.price));
"""


def test_check_accepts_a_script(call: Call, write: Write) -> None:
    write("shop.sql", SCRIPT)
    done = call("check", "shop.sql")
    assert done.returncode == 0, done.stderr


def test_check_reports_all_errors_with_line_and_column(call: Call, write: Write) -> None:
    write("shop.sql", WRONG)
    done = call("check", "shop.sql")
    assert done.returncode == 2
    assert "shop.sql:5:25: unknown column `auctoin`" in done.stderr
    assert "shop.sql:6:25: unknown function `nosuch`" in done.stderr


def test_explain_draws_the_steps_of_a_script(call: Call, write: Write) -> None:
    write("shop.sql", SCRIPT)
    data = json.loads(call("explain", "shop.sql", "--json").stdout)
    assert data["steps"][0]["name"] == "bid"


def test_to_yaml_prints_a_document_with_the_same_plan(call: Call, write: Write) -> None:
    path = write("shop.sql", SCRIPT)
    text = call("to-yaml", "shop.sql").stdout
    assert Pipeline.from_yaml_text(text).to_yaml() == Pipeline.from_sql(path).to_yaml() == text


def test_diff_compares_two_scripts(call: Call, write: Write) -> None:
    write("old.sql", SCRIPT)
    write("new.sql", SCRIPT.replace("count(*)", "sum(price)"))
    done = call("diff", "old.sql", "new.sql")
    assert done.returncode == 0, done.stderr
    assert "needs a replay" in done.stdout


def test_draw_draws_the_patterns_of_a_script(call: Call, write: Write) -> None:
    path = write("shop.sql", f"{SOURCE}{PATTERN}SELECT * FROM falls;")
    done = call("draw", "shop.sql")
    assert done.returncode == 0, done.stderr
    assert "<svg" in path.with_suffix(".svg").read_text()


def test_run_reports_the_errors_of_a_script_before_spark_starts(call: Call, write: Write) -> None:
    write("shop.sql", WRONG)
    done = call("run", "shop.sql", "--drain")
    assert done.returncode == 2
    assert "2 problems" in done.stderr


def test_script_without_a_sink_is_an_error(write: Write) -> None:
    path = write("shop.sql", SOURCE)
    with pytest.raises(DocumentError, match=r"shop.sql:1:1: nothing is written"):
        Pipeline.from_sql(path)


def test_single_query_writes_to_the_console(write: Write) -> None:
    pipeline = Pipeline.from_sql(write("shop.sql", f"{SOURCE}SELECT auction FROM bid;"))
    assert "console: {}" in pipeline.to_yaml()


@pytest.mark.parametrize(
    "text",
    [f"{SOURCE}SELECT auction FROM bid;\nSELECT price FROM bid;", f"{SCRIPT}SELECT price FROM bid;"],
)
def test_rows_of_another_query_are_not_lost_silently(text: str) -> None:
    with pytest.raises(DocumentError, match="the rows of this query are not written"):
        Pipeline.from_sql_text(text)
