"""The table that the changes of a query give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import connect
from headrace.cli.shell import results
from headrace.cli.shell.results import Result, is_bounded
from headrace.steps.facts import Facts

TABLE = Facts(change="table")
UPDATES = Facts(change="updates", table_key=("k",), fixed=(("k", ("k",)),))


def rows_of(result: Result) -> list[tuple[object, ...]]:
    return list(result.rows())


def test_rows_of_a_stream_are_added() -> None:
    result = Result(Facts())
    result.take(["k"], [("a",), ("a",)])
    result.take(["k"], [("b",)])
    assert (rows_of(result), result.count, result.is_table) == ([("a",), ("a",), ("b",)], 3, False)


def test_updated_row_takes_the_place_of_the_old_one() -> None:
    result = Result(UPDATES)
    result.take(["k", "n"], [("a", 1), ("b", 1)])
    result.take(["k", "n"], [("a", 2)])
    assert (rows_of(result), result.count, result.is_table) == ([("a", 2), ("b", 1)], 2, True)


def test_updated_rows_without_their_key_are_added() -> None:
    result = Result(UPDATES)
    result.take(["n"], [(1,), (1,)])
    assert rows_of(result) == [(1,), (1,)]


def test_deleted_row_is_removed() -> None:
    result = Result(TABLE)
    result.take(["k", "change"], [("a", "insert"), ("b", "insert"), ("a", "delete")])
    assert (rows_of(result), result.count, result.columns) == ([("b",)], 1, ("k",))


def test_changes_are_rows_on_request() -> None:
    result = Result(TABLE, as_changes=True)
    result.take(["k", "change"], [("a", "insert"), ("a", "delete")])
    assert rows_of(result) == [("a", "insert"), ("a", "delete")]


def test_row_with_a_float_that_is_no_number_is_removed() -> None:
    result = Result(TABLE)
    result.take(["v", "change"], [(float("nan"), "insert"), (float("nan"), "delete")])
    assert rows_of(result) == []


def test_rows_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MAX_ROWS", 2)
    result = Result(TABLE)
    result.take(["k", "change"], [(n, "insert") for n in range(5)])
    assert (len(rows_of(result)), result.count) == (2, 5)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 3)))))
def test_changes_give_the_table_that_emitted_them(values: list[tuple[str, int | None]]) -> None:
    """A table by key, in which a missing value deletes the key, emits changes; they give its rows again."""
    table: dict[str, int] = {}
    changes: list[tuple[str, int, str]] = []
    for key, value in values:
        old = table.pop(key, None)
        if value is not None:
            table[key] = value
        if old is not None and value is not None:
            changes += [(key, old, "update_before"), (key, value, "update_after")]
        elif old is not None:
            changes.append((key, old, "delete"))
        elif value is not None:
            changes.append((key, value, "insert"))
    result = Result(TABLE)
    result.take(["k", "v", "change"], changes)
    assert sorted(rows_of(result), key=str) == sorted(table.items(), key=str)
    assert result.count == len(table)


def test_only_stored_rows_and_counted_ones_end() -> None:
    assert is_bounded(
        [connect.files(path="in/"), connect.memory(), connect.generator(rows=5, columns={"n": "sequence"})]
    )
    assert not is_bounded([connect.files(path="in/"), connect.generator(rate=5, columns={"n": "sequence"})])
    assert not is_bounded([connect.kafka(servers="k:1", topic="t")])
