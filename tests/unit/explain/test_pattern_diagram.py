"""A pattern is drawn as a state diagram: Mermaid text and SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from headrace import patterns
from headrace.explain.pattern_diagram import diagram_of, mermaid
from headrace.explain.pattern_svg import svg_of
from headrace.patterns.elements import Within
from headrace.steps.base import Ref
from headrace.steps.patterns.match import Match

PATTERN = (
    patterns.step("s", "v = 's'")
    .followed_by("pair", patterns.step("a", "v = 'a'").next("b", "v = 'b'"))
    .times(0, 2)
    .not_next("x", "v = 'x'")
    .followed_by(patterns.either(patterns.step("c"), patterns.step("d")))
    .not_followed_by("y", "v = 'y'")
)
NODE = Match("m", Ref("tx"), (), PATTERN, Within(60_000_000))


def test_every_way_from_a_row_to_the_next_is_an_edge() -> None:
    edges = {(edge.source, edge.target): edge.label for edge in diagram_of(NODE).edges}
    assert edges == {
        ("start", "s"): "",
        ("s", "a"): "followed by",
        ("a", "b"): "next",
        ("b", "a"): "again (0 to 2 times)",
        ("b", "c"): "not next x (v = 'x'), followed by",
        ("b", "d"): "not next x (v = 'x'), followed by",
        ("s", "c"): "not next x (v = 'x'), followed by",
        ("s", "d"): "not next x (v = 'x'), followed by",
        ("c", "end"): "not followed by y (v = 'y'), within 1 minute",
        ("d", "end"): "not followed by y (v = 'y'), within 1 minute",
    }


def test_mermaid_escapes_what_it_would_take_for_its_own() -> None:
    node = Match("m", Ref("tx"), (), patterns.step("a", 'v = "x"; y::int'))
    assert mermaid(diagram_of(node)) == (
        "stateDiagram-v2\n  direction LR\n"
        '  state "a#58; v = #quot;x#quot;#59; y#58;#58;int" as s0\n'
        "  [*] --> s0\n  s0 --> [*]\n"
    )


def test_the_picture_holds_every_step_and_label() -> None:
    picture = ET.fromstring(svg_of([diagram_of(NODE), diagram_of(NODE)]))
    message = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert [message.count(word) for word in ("m", "s", "a", "b", "c", "d", "again (0 to 2 times)")] == [2] * 7


def test_a_step_that_may_be_absent_lets_the_next_one_begin() -> None:
    pattern = patterns.step("leg", "m < 9").one_or_more().optional().next("over", "m > 9")
    drawn = diagram_of(Match("m", Ref("tx"), (), pattern, Within(between=60_000_000)))
    assert [(edge.source, edge.target, edge.label) for edge in drawn.edges] == [
        ("start", "leg", ""),
        ("start", "over", ""),
        ("leg", "leg", "again"),
        ("leg", "over", "next"),
        ("over", "end", ""),
    ]
    assert drawn.limit == "rows less than 1 minute apart"


def test_long_conditions_are_broken_into_lines_and_any_row_is_shown() -> None:
    long = "activity = 'driving' and coalesce(sum(leg.minutes), 0) + minutes <= 270"
    picture = svg_of([diagram_of(Match("m", Ref("tx"), (), patterns.step("a", long).next("b")))])
    message = [text.text for text in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert message.count("any row") == 1
    assert [text for text in message if text and len(text) > 5 and text in long] == [
        "activity = 'driving'",
        "and coalesce(sum(leg.minutes), 0) +",
        "minutes <= 270",
    ]
