"""Plan checks of lookups: each option belongs to one way of loading."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace import DivertingStream, Pipeline, connect
from headrace.errors import PlanError
from headrace.explain.explanation import explain
from headrace.lowering.lookups.cache import KeyCache
from headrace.plan.queries import queries_of
from headrace.yaml import dump, from_text

TABLE = connect.sqlite(path="homes.db", table="homes")


def build_lookup(table: Any = TABLE, **options: Any) -> DivertingStream:
    rows = Pipeline("p").read("tx", connect.memory(), schema="id int, card string")
    actual: DivertingStream = rows.lookup(
        "home", table, on="card", schema="card string, home string", **options
    )
    actual.write("out", connect.memory())
    return actual


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"load": "rows"}, "expected load to be one of table, key, got 'rows'"),
        ({"on_miss": "skip"}, "expected on_miss to be one of null, drop, dead_letter, got 'skip'"),
        ({"cache": 10}, '`cache` is an option of load="key"'),
        ({"ttl": "1 minute"}, '`ttl` is an option of load="key"'),
        ({"load": "key", "refresh": "1 minute"}, '`refresh` is an option of load="table"'),
        ({"how": "inner", "on_miss": "null"}, '`how="inner"` drops rows without a match'),
        ({"load": "key", "concurrency": 0}, "expected `concurrency` of at least 1, got 0"),
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
