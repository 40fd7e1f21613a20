"""Facts about queries, and the mistakes that a check reports."""

from __future__ import annotations

import pytest

from headrace import Pipeline, connect
from headrace.errors import OptionError, PlanError
from headrace.sql import facts


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) n from tx group by window(ts, '1 minute')",
        "select window.start, count(*) n from tx group by window (ts, '1 minute'), card having n > 1 limit 3",
        "select window, sum(n) from tx group by window",
        "select offset, count(*) from tx group by offset",
    ],
)
def test_words_of_clauses_can_be_columns_and_functions_after_group_by(query: str) -> None:
    assert facts.read(query, where="").tables == ("tx",)
    assert facts.read(query, where="").stateful


def test_a_stream_cannot_be_sorted() -> None:
    pipeline = Pipeline("p")
    pipeline.read("tx", connect.memory(), schema="v int")
    pipeline.sql("sorted", "select * from tx order by v").write("out", connect.memory())
    with pytest.raises(PlanError, match="its rows cannot be sorted"):
        pipeline.run(until="drained", progress=False)


def test_names_of_streams_are_not_case_sensitive() -> None:
    pipeline = Pipeline("p")
    pipeline.read("tx", connect.memory(), schema="v int")
    pipeline.sql("all", "select * from TX").write("out", connect.memory())
    pipeline.check()
    with pytest.raises(OptionError, match="did you mean `tx`"):
        pipeline.sql("other", "select * from txs")
