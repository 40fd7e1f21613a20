"""Lookups: their options, in Python and in documents, and the cache of lookups by key."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace import DivertingStream, Pipeline, connect
from headrace.errors import DocumentError, OptionError, PlanError
from headrace.explain.explanation import explain
from headrace.lookups.declare import Lookup
from headrace.lookups.worker import KeyCache
from headrace.plan.queries import queries_of
from headrace.steps.base import Ref
from headrace.yaml import dump, from_text

TABLE = connect.sqlite(path="homes.db", table="homes")


def build_lookup(table: Any = TABLE, **options: Any) -> DivertingStream:
    rows = Pipeline("p").read("tx", connect.memory(), schema="id int, card string")
    actual: DivertingStream = rows.lookup(
        "home", table, on="card", **{"schema": "card string, home string", **options}
    )
    actual.write("out", connect.memory())
    return actual


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"cache": 10}, '`cache` is an option of load="key"'),
        ({"ttl": "2 minutes"}, '`ttl` is an option of load="key"'),
        ({"load": "key", "refresh": "1 minute"}, '`refresh` is an option of load="table"'),
        ({"how": "inner", "on_miss": "null"}, '`how="inner"` drops rows without a match'),
        ({"table": connect.memory(), "load": "key"}, "a table of memory cannot be read by key"),
        (
            {"table": SimpleNamespace(schema=""), "refresh": "1 minute"},
            "a DataFrame is read once, when the run starts",
        ),
    ],
)
def test_options_that_do_not_fit_are_plan_errors(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(PlanError) as raised:
        build_lookup(**options)._pipeline.check()
    assert [actual.what for actual in raised.value.problems] == [problem]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"load": "rows"}, "`home`: load: expected one of table, key, got 'rows'"),
        ({"on_miss": "skip"}, "`home`: on_miss: expected one of null, drop, dead_letter, got 'skip'"),
        ({"load": "key", "concurrency": 0}, "`home`: concurrency: expected a number of at least 1, got 0"),
        ({"load": "key", "cache": "5"}, "`home`: cache: expected a whole number, got '5'"),
        ({"load": "key", "ttl": 5}, "`home`: ttl: expected a duration, got 5"),
        ({"format": "jsn"}, "`home`: format: unknown format `jsn`"),
        ({"schema": "card text"}, "`home`: schema character 6: unknown type `text`"),
        ({"schema": 5}, "`home`: schema: expected a schema such as `card string, amount double`, got 5"),
    ],
)
def test_invalid_options_are_reported_at_the_call(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionError) as raised:
        build_lookup(**options)
    assert str(raised.value).splitlines()[0] == problem


def test_same_wrong_option_in_a_document_has_its_position() -> None:
    document = """
sources: {tx: {memory: {}, schema: card string}}
steps:
  home:
    from: tx
    lookup: {sqlite: {path: homes.db, table: homes}, on: card, load: key, concurrency: 0, name: x}
"""
    with pytest.raises(DocumentError) as raised:
        from_text(document, name="p")
    assert [(problem.where, problem.what) for problem in raised.value.problems] == [
        ("<text>:6:88", "expected a number of at least 1, got `0`"),
        ("<text>:6:91", "unknown key `name` in lookup"),
    ]


def test_unknown_and_missing_options_of_the_model_are_named() -> None:
    with pytest.raises(OptionError, match="`home`: unknown option `cach`"):
        Lookup.create("home", Ref("tx"), TABLE, on="card", cach=5)
    with pytest.raises(OptionError, match="`home`: option `on` is missing"):
        Lookup.create("home", Ref("tx"), TABLE)


def test_document_has_the_options_of_a_lookup() -> None:
    actual = build_lookup(load="key", cache=0, ttl="30 seconds", concurrency=4, on_miss="dead_letter")
    text = dump(actual._pipeline._graph)
    assert "load: key" in text
    assert "ttl: 30 seconds" in text
    assert from_text(text) == actual._pipeline._graph


def test_dead_letters_of_a_lookup_by_key_come_from_the_query_of_its_rows() -> None:
    actual = build_lookup(load="key", on_miss="dead_letter")
    actual.dead_letters.write("missing", connect.memory())
    [query] = queries_of(actual._pipeline._graph)
    assert (query.name, query.sinks) == ("home", ("out", "missing"))


def test_step_without_dead_letters_has_no_such_output() -> None:
    assert not hasattr(build_lookup(), "dead_letters")


def test_explanation_names_the_tier_and_the_loading() -> None:
    text = str(explain(build_lookup(load="key", on_miss="dead_letter")._pipeline._graph))
    assert "by key, cached for 1 minute" in text
    assert "rows without a match go to .dead_letters" in text


def test_cached_answers_expire_and_the_oldest_are_removed() -> None:
    now, reads = [0.0], list[tuple[str, ...]]()

    def read(keys: Any) -> dict[tuple[str, ...], list[tuple[str | None, ...]]]:
        reads.extend(keys)
        return {key: [key] for key in keys if key != ("none",)}

    cache = KeyCache(2, 10.0, clock=lambda: now[0])
    assert cache.get([("a",), ("none",)], read) == [[("a",)], ()]
    assert cache.get([("none",), ("a",)], read) == [(), [("a",)]]
    assert reads == [("a",), ("none",)]
    cache.get([("b",)], read)  # removes `none`, which was used before `a`
    cache.get([("a",)], read)
    cache.get([("none",)], read)
    assert reads == [("a",), ("none",), ("b",), ("none",)]
    now[0] = 10.0
    cache.get([("a",)], read)
    assert reads[-1] == ("a",)
