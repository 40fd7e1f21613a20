"""The queries of the Nexmark benchmark as SQL scripts: each has the stateful steps that it needs, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.statements.load import from_text

FOLDER = Path(__file__).parents[2] / "support" / "nexmark"
STATEFUL = {
    "q0": [],
    "q1": [],
    "q2": [],
    "q3": ["TableJoin"],
    "q4": ["TableJoin", "Aggregate", "Aggregate"],
    "q5": ["WindowAggregate", "WindowAggregate", "WindowAggregate", "WindowJoin"],
    "q6": ["TableJoin", "TopN", "Over"],
    "q7": ["WindowAggregate", "TableJoin"],
    "q8": ["WindowAggregate", "WindowAggregate", "WindowJoin"],
    "q9": ["TableJoin", "TopN"],
    "q10": [],
    "q11": ["WindowAggregate"],
    "q12": ["ClockTime", "WindowAggregate"],
    "q13": ["Lookup"],
    "q14": [],
    "q15": ["Aggregate"],
    "q16": ["Aggregate"],
    "q17": ["Aggregate"],
    "q18": ["Latest"],
    "q19": ["TopN"],
    "q20": ["TableJoin"],
    "q21": [],
    "q22": [],
}
ROW_BY_ROW = {"Source", "EventTime", "Where", "Select", "WithColumns", "Sink"}


def test_every_query_is_there() -> None:
    assert {path.stem for path in FOLDER.glob("q*.sql")} == set(STATEFUL)


@pytest.mark.parametrize("query", STATEFUL)
def test_query_has_the_steps_that_it_needs(query: str) -> None:
    text = "".join((FOLDER / f"{name}.sql").read_text() for name in ("sources", query))
    graph = from_text(text, file=f"{query}.sql", name=query)
    steps = [type(node).__name__ for node in graph]
    assert [step for step in steps if step not in ROW_BY_ROW] == STATEFUL[query]
