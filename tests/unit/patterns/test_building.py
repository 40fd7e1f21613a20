"""Patterns are built stage by stage, and a stage offers only the verbs that apply to it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import Pipeline, connect, patterns
from headrace.errors import OptionError
from headrace.patterns.building import Negated, Once, Repeated
from headrace.patterns.elements import Skip, Times, Within, skip_of, within_of
from headrace.streams.timed import TimedKeyedStream

A = patterns.step("a", "v = 'a'")


@pytest.fixture
def keyed() -> TimedKeyedStream:
    tx = Pipeline("p").read("tx", connect.memory(), schema="k string, v string, ts timestamp")
    return tx.event_time("ts").key_by("k")


def test_a_verb_leaves_the_pattern_it_is_called_on_as_it_was() -> None:
    longer = A.followed_by("b", "v = 'b'").one_or_more().greedy()
    assert A.names == ("a",)
    assert longer.names == ("a", "b")
    assert longer.elements[-1].times == Times(1, None)


def test_what_can_be_set_on_a_step_depends_on_its_stage() -> None:
    assert isinstance(A, Once)
    assert isinstance(A.times(2), Repeated)
    assert isinstance(A.not_next("x", "v = 'x'"), Negated)
    assert not hasattr(A, "greedy")
    assert not hasattr(A.times(2), "times")
    assert not hasattr(A.not_followed_by("x", "v = 'x'"), "optional")


def test_a_pattern_follows_as_a_group_with_its_quantifiers_or_under_a_name() -> None:
    pair = patterns.group(A.next("b", "v = 'b'")).times(2)
    followed = patterns.step("s").followed_by(pair).elements[-1]
    assert (followed.contiguity, followed.times, followed.name) == ("followed_by", Times(2, 2), "group of a")
    named = patterns.step("s").next("pair", A.next("b")).elements[-1]
    assert (named.name, named.contiguity, len(named.parts[0])) == ("pair", "next", 2)


@pytest.mark.parametrize(("least", "most"), [(-1, 2), (3, 2), (0, 0)])
def test_numbers_the_wrong_way_round_are_refused(least: int, most: int) -> None:
    with pytest.raises(
        OptionError, match=f"times of `a`: expected 0 <= least <= most and most > 0, got {least} and {most}"
    ):
        A.times(least, most)


def test_either_takes_two_or_more() -> None:
    with pytest.raises(OptionError, match="either: expected two or more patterns, got 1"):
        patterns.either(A)


def test_a_condition_is_text_or_a_column() -> None:
    with pytest.raises(OptionError, match="expected Spark SQL text or a pyspark Column, got 5"):
        patterns.step("a", 5)  # type: ignore[arg-type]


def test_within_is_a_length_or_both_of_them() -> None:
    assert within_of(timedelta(seconds=1)) == Within(1_000_000)
    assert within_of({"between": "1 second"}) == Within(None, 1_000_000)
    assert within_of(None) == Within()
    with pytest.raises(OptionError, match="within: unknown key 'betwen'\n  hint: did you mean `between`"):
        within_of({"betwen": "1 second"})
    with pytest.raises(OptionError, match="within: expected a duration above zero"):
        within_of("0 seconds")


def test_skip_is_a_word_or_names_a_step() -> None:
    assert (
        skip_of(patterns.to_last("b"))
        == Skip("to_last", "b")
        == skip_of({"to_last": "b"})
        == skip_of("to_last(b)")
    )
    assert str(skip_of({"to_first": "b"})) == "to_first(b)"
    with pytest.raises(
        OptionError,
        match=r"skip: expected one of none, past_last, .* got 'past_lst'\n  hint: did you mean `past_last`",
    ):
        skip_of("past_lst")
    with pytest.raises(OptionError, match="skip: to_first needs the name of a step"):
        skip_of("to_first")


def test_matches_have_outputs_of_their_own(keyed: TimedKeyedStream) -> None:
    actual = keyed.match("m", A.next("b", "v = 'b'"), within="1 minute")
    assert repr(actual.timeouts) == "<m.timeouts of p>"
    assert repr(actual.late) == "<m.late of p>"
    assert not hasattr(actual.late, "window")


def test_options_of_match_are_checked(keyed: TimedKeyedStream) -> None:
    with pytest.raises(
        OptionError, match=r"`m`: expected a pattern, got 'a'\n  hint: begin one with patterns.step"
    ):
        keyed.match("m", "a")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="`m`: expected order to be event_time or arrival, got 'arival'"):
        keyed.match("m", A, order="arival")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="`m`: expected timeouts to be divert or count, got 'drop'"):
        keyed.match("m", A, timeouts="drop")  # type: ignore[arg-type]
    with pytest.raises(
        OptionError, match=r"`m`: expected late_rows to be .*, got 'cuont'\n  hint: did you mean"
    ):
        keyed.match_rules("m", rules="r.yaml", late_rows="cuont")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="`m`: select is empty"):
        keyed.match("m", A, select={})
    with pytest.raises(OptionError, match="`m`: expected a measure in Spark SQL, got 5"):
        keyed.match("m", A, select={"n": 5})  # type: ignore[dict-item]


def test_without_a_key_all_rows_have_one() -> None:
    tx = Pipeline("p").read("tx", connect.memory(), schema="v string, ts timestamp").event_time("ts")
    actual = tx.match("m", A, within="1 minute")
    node: Any = actual._pipeline._graph["m"]
    assert node.keys == ()


def test_repeats_set_twice_are_refused() -> None:
    rises = patterns.step("rise", "v > 1").one_or_more()
    with pytest.raises(OptionError, match=r"until of `rise`: `until` is already set: v = 0\n  hint: join"):
        rises.until("v = 0").until("v = 9")
    with pytest.raises(
        OptionError, match=r"combinations of `rise`: `rise` is already consecutive\n  hint: remove one"
    ):
        rises.consecutive().combinations()
    assert rises.consecutive().consecutive() == rises.consecutive()
