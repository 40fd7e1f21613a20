"""The pattern of a MATCH_RECOGNIZE is drawn as a state diagram."""

from __future__ import annotations

import pytest

from headrace.explain.pattern_diagram import Diagram
from headrace.explain.pattern_svg import svg_of
from headrace.explain.row_pattern_diagram import row_diagram_of
from headrace.sql.match_recognize.statement import split_statement
from headrace.steps.base import Ref
from headrace.steps.patterns.match_recognize import RowPattern


def draw(pattern: str, rest: str = "") -> Diagram:
    query = f"select * from t match_recognize (pattern ({pattern}) {rest})"
    actual = split_statement(query, where="m")
    assert actual is not None
    return row_diagram_of(RowPattern("m", Ref("t"), "t", query, "", actual.clause))


@pytest.mark.parametrize(
    ("pattern", "edges"),
    [
        ("A B", ["start A", "A B", "B end"]),
        ("A+ B", ["start A", "A A again", "A B", "B end"]),
        ("A{2,3}? B", ["start A", "A A again (2 to 3 times, reluctant)", "A B", "B end"]),
        ("A{2,}", ["start A", "A A again (2 times or more)", "A end"]),
        ("A? B", ["start A", "start B", "A B", "B end"]),
        ("A (B | C) A", ["start A", "A B", "A C", "B A (2)", "C A (2)", "A (2) end"]),
        ("(A B)*", ["start A", "A B", "B A again", "B end", "start end no row"]),
        ("^ A? B $", ["start A first of the partition", "start B first of the partition", "A B", "B end "
                                                                                                 "last of "
                                                                                                 "the "
                                                                                                 "partition"]),
        ("(A{2} B?)+", ["start A", "A A again (2 times) or again", "A B", "B A again", "B end", "A end"]),
        ("A | ()", ["start A", "A end", "start end no row"]),
        ("PERMUTE(A, B C) D", ["start PERMUTE(A, B C)", "PERMUTE(A, B C) D", "D end"]),
    ],
)  # fmt: skip
def test_every_way_from_a_row_to_the_next_is_an_edge(pattern: str, edges: list[str]) -> None:
    actual = [f"{edge.source} {edge.target} {edge.label}".strip() for edge in draw(pattern).edges]
    assert actual == edges


def test_states_hold_conditions_and_the_picture_all_of_it() -> None:
    message = "within interval '1' hour define A as v >\n 1, B as v < 1"
    diagram = draw("A {- B -} PERMUTE(A, B)", message)
    assert [(state.name, state.condition) for state in diagram.states] == [
        ("A", "v > 1"),
        ("B", "v < 1, not shown"),
        ("PERMUTE(A, B)", "A: v > 1; B: v < 1"),
    ]
    assert diagram.limit == "within 1 hour"
    assert "v &gt; 1" in svg_of([diagram])
