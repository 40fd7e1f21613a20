"""Python functions in SQL: the steps of their calls, and the errors of what cannot be called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headrace import yaml
from headrace.errors import DocumentError
from headrace.functions.reference import search_directory
from headrace.plan.graph import Graph
from headrace.statements import from_text
from headrace.steps.base import Ref
from headrace.steps.code.functions import Map

CODE = """
from dataclasses import dataclass
from decimal import Decimal

@dataclass
class Place:
    city: str

def score(amount: float, limit: float) -> float: return amount / limit
def place(code: str) -> Place | None: return Place(code)
def untyped(x): return x
def typed_wrongly(x) -> complex: return x
"""
SOURCE = """
CREATE FUNCTION score AS 'scoring_in_sql:score' LANGUAGE PYTHON;
CREATE SOURCE tx (card STRING, amount DOUBLE, maximum DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH (connector = 'memory');
"""


@pytest.fixture(autouse=True)
def directory(tmp_path: Path) -> Path:
    (tmp_path / "scoring_in_sql.py").write_text(CODE)
    return tmp_path


def plan(text: str, directory: Path) -> Graph:
    return from_text(SOURCE + text, file="shop.sql", name="shop", directory=directory)


def test_call_in_sql_is_the_same_step_as_in_a_document(directory: Path) -> None:
    graph = plan(
        "CREATE VIEW v AS SELECT card, score(amount, maximum) AS s FROM tx WHERE amount > 1", directory
    )
    search_directory(directory)
    document = yaml.from_text("""
name: shop
sources: {tx: {memory: {}, schema: "card STRING, amount DOUBLE, maximum DOUBLE, ts TIMESTAMP", event_time: ts}}
steps:
  v:where: {from: tx, where: amount > 1}
  v:map: {from: v:where, map: {python: "scoring_in_sql:score", arguments: [amount, maximum], output: score_1 double}}
  v: {from: v:map, select: {card: card, s: score_1}}
""")
    assert [type(node) for node in graph] == [type(node) for node in document]
    called = graph["v:map"]
    assert isinstance(called, Map)
    assert replace(called, input=Ref("v:where")) == document["v:map"]
    again = yaml.from_text(yaml.dump(graph))["v:map"]
    assert isinstance(again, Map)
    assert replace(again, input=called.input) == called


def test_equal_calls_are_one_step_and_inner_calls_come_first(directory: Path) -> None:
    graph = plan(
        "CREATE VIEW v AS SELECT score(amount, 2.0) AS a, 1 + score(amount, 2.0) AS b, "
        "score(score(amount, 2.0), maximum) AS c FROM tx GROUP BY card, score(amount, 2.0), score(score(amount, 2.0), maximum)",
        directory,
    )
    calls = [node for node in graph if isinstance(node, Map)]
    assert [call.arguments for call in calls] == [("amount", "score_1_argument2"), ("score_1", "maximum")]


def test_result_of_a_class_is_a_struct_and_options_are_those_of_map(directory: Path) -> None:
    graph = plan(
        "CREATE FUNCTION place AS 'scoring_in_sql:place' WITH (on_error = 'fail', timeout = '1 second');"
        "CREATE VIEW v AS SELECT place(card).city AS city FROM tx",
        directory,
    )
    node = graph["v:map"]
    assert isinstance(node, Map)
    assert (node.output.ddl if node.output else "") == "place_1 struct<city:string NOT NULL>"
    assert (node.on_error, node.timeout) == ("fail", 1_000_000)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("CREATE FUNCTION f AS 'scoring_in_sql:untyped'", "the type of the result of `untyped` is unknown"),
        ("CREATE FUNCTION f AS 'scoring_in_sql:typed_wrongly'", "no column type for `complex`"),
        ("CREATE FUNCTION f AS 'scoring_in_sql:missing'", "`scoring_in_sql` has no `missing`"),
        ("CREATE FUNCTION f AS 'scoring_in_sql.score'", "expected 'module:function'"),
        ("CREATE FUNCTION upper AS 'scoring_in_sql:score'", "Spark has a function `upper`"),
        ("CREATE FUNCTION score AS 'scoring_in_sql:score'", "duplicate function `score`"),
        ("CREATE FUNCTION f AS 'a.B' LANGUAGE JAVA", "shop.sql:4:37: expected PYTHON, got `JAVA`"),
        ("CREATE FUNCTION f AS 'scoring_in_sql:score' WITH (retries = '2')", "unknown option `retries`"),
        (
            "CREATE VIEW v AS SELECT card, score(sum(amount), 1.0) AS s FROM tx GROUP BY card",
            "shop.sql:4:31: the function `score` over an aggregate is not supported",
        ),
        (
            "CREATE VIEW v AS SELECT a.card FROM tx a JOIN tx b ON score(a.amount, 1.0) = b.amount",
            "the function `score` in ON is not supported",
        ),
        (
            "CREATE VIEW n AS SELECT card, sum(amount) AS s FROM tx GROUP BY card; "
            "CREATE VIEW v AS SELECT score(s, 1.0) AS x FROM n",
            "the function `score` over results that change is not supported",
        ),
        ("CREATE VIEW v AS SELECT score(1, 2, 3) AS x FROM tx", "has 2 parameters, got 3 arguments"),
        ("CREATE VIEW v AS SELECT score() AS x FROM tx", "the function `score` needs an argument"),
        ("CREATE VIEW v AS SELECT score(amuont, 1.0) AS x FROM tx", "unknown column `amuont`"),
    ],
)
def test_function_that_cannot_be_called_is_an_error_with_its_place(
    text: str, problem: str, directory: Path
) -> None:
    with pytest.raises(DocumentError) as caught:
        plan(text, directory)
    assert problem in str(caught.value)
    assert all(item.where.startswith("shop.sql:") for item in caught.value.problems)
