"""Bodies of requests: records byte for byte, or a reason for the client."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.http.bodies import BodyError, find_items, split_body

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ROWS = st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=3), max_size=5)


@given(ROWS, st.sampled_from([None, 1]))
def test_elements_of_an_array_are_its_rows(rows: list[object], indent: int | None) -> None:
    records = split_body(json.dumps(rows, indent=indent).encode(), "application/json", "json")
    assert [json.loads(record) for record in records] == rows


@given(ROWS)
def test_lines_are_rows(rows: list[object]) -> None:
    body = "\n".join(json.dumps(row) for row in rows) + "\n"
    records = split_body(body.encode(), "application/x-ndjson", "json")
    assert [json.loads(record) for record in records] == rows


def test_records_keep_their_bytes() -> None:
    assert split_body(b' [ {"n": 1.10} ,{"n":1e2}]\n', "", "json") == [b'{"n": 1.10}', b'{"n":1e2}']
    assert split_body(b'\n{"n": 0.10 }', "", "json") == [b'{"n": 0.10 }']


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "expected a JSON object"),
        (b"1", "expected a JSON object"),
        (b"[1]", "element 1: expected a JSON object"),
        (b'[{"n": 1}', "element 1: expected `,` or `]`"),
        (b'[{"n": 1},]', "element 2: expected a JSON object"),
        (b'[{"n": 1}] x', "there is text after the array"),
        (b'{"n": 1} {"n": 2}', "there is text after the object"),
        (b'{"n": NaN}', "NaN"),
        (b'{"n"', "not valid JSON"),
        (b'{"n": ' + b"1" * 5_000 + b"}", "a number is too long"),
        (b"\xff", "not valid UTF-8: byte 0"),
        (b'{"n": ' + b"[" * 100_000, "nested too deeply|not valid JSON"),
        (b"[" * 100_000, "expected a JSON object"),
    ],
)
def test_other_bodies_are_refused_with_a_reason(body: bytes, reason: str) -> None:
    with pytest.raises(BodyError, match=reason):
        split_body(body, "application/json", "json")


@given(st.binary(max_size=60), st.sampled_from(["json", "csv", "text", "raw"]), st.text(max_size=10))
def test_any_bytes_are_divided_or_refused(body: bytes, encoding: str, content_type: str) -> None:
    with suppress(BodyError):
        records = split_body(body, content_type, encoding)
        assert all(record in body for record in records)


def test_text_and_csv_have_a_record_per_line_and_raw_is_one_record() -> None:
    assert split_body(b"a,1\r\n\nb,2\n", "", "csv") == [b"a,1", b"b,2"]
    assert split_body(b"a\nb\n", "", "raw") == [b"a\nb\n"]


def test_rows_inside_an_answer_are_found_by_path() -> None:
    assert find_items(b'{"data": {"items": [{"n": 1}]}}', "data.items") == b'[{"n": 1}]'
    with pytest.raises(BodyError, match=r"no field `data\.rows`"):
        find_items(b'{"data": {}}', "data.rows")
