"""Durations, windows and triggers: what is taken and what is refused."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import durations, triggers, windows
from headrace.errors import DurationError, HeadraceError


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("0 seconds", 0),
        ("1 second", 10**6),
        ("1.5s", 1_500_000),
        ("250 ms", 250_000),
        ("7 us", 7),
        ("2 hours 30 min", 9_000_000_000),
        ("1 day, 1 hour", 90_000_000_000),
        ("1 WEEK", 604_800_000_000),
        (timedelta(minutes=5), 300_000_000),
    ],
)
def test_a_length_of_time_is_read(text: str, length: int) -> None:
    assert durations.microseconds(text) == length


@pytest.mark.parametrize("text", ["", "5", "minutes", "5 parsecs", "five minutes", "-1 s", "5 s x", 5, None])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(DurationError, match="expected a duration"):
        durations.microseconds(text)


def test_a_negative_timedelta_is_refused() -> None:
    with pytest.raises(DurationError, match="that is not negative"):
        durations.microseconds(timedelta(seconds=-1))


def test_finer_than_a_microsecond_is_refused() -> None:
    with pytest.raises(DurationError, match="finer than a microsecond"):
        durations.microseconds("0.5 us")


@given(st.integers(0, 10**15))
def test_a_length_survives_being_written_and_read(length: int) -> None:
    assert durations.microseconds(durations.text(length)) == length


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: windows.tumbling("0 seconds"), "tumbling: size: expected a duration above zero"),
        (
            lambda: windows.sliding("1 s", every="2 s"),
            "expected `every` of at most the size (1 second), got 2 seconds",
        ),
        (lambda: windows.session("soon"), "session: gap: expected a duration, got 'soon'"),
        (lambda: windows.count(0), "count: size: expected a whole number of rows, 1 or more, got 0"),
        (lambda: windows.count(3, every=True), "count: every: expected a whole number of rows"),
        (lambda: windows.count(3, order="random"), "count: order: expected one of event_time, arrival"),  # type: ignore[arg-type]
        (lambda: windows.delta("v", by=-1), "delta: by: expected a number that is not negative"),
        (windows.landmark, "expected either `when`, or `reset` and `step`"),
        (lambda: windows.landmark(when="a", reset="1 day", step="1 h"), "expected either `when`"),
        (lambda: windows.landmark(reset="1 day", step="7 h"), "expected `reset` to be a multiple of `step`"),
        (lambda: triggers.every("0 s"), "every: expected a duration above zero"),
        (lambda: triggers.after_count(0), "after_count: expected a whole number of rows"),
        (triggers.any_of, "any_of: expected a list of triggers, got ()"),
        (lambda: triggers.all_of("soon"), "all_of: expected a trigger, got 'soon'"),  # type: ignore[arg-type]
        (lambda: triggers.Emission.create(mode="retract"), "did you mean `retracting`?"),
        (lambda: triggers.Emission.create(ttl="1 day"), "emit: unknown option `ttl`"),
        (
            lambda: triggers.Emission.create(late_rows="drop"),
            "emit: late_rows: expected one of divert, count",
        ),
    ],
)
def test_a_wrong_declaration_is_refused(build, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(HeadraceError) as caught:
        build()
    assert message in str(caught.value)


def test_an_offset_is_taken_modulo_the_size() -> None:
    assert windows.tumbling("1 hour", offset="90 minutes") == windows.tumbling("1 hour", offset="30 minutes")


@pytest.mark.parametrize(
    ("emission", "loses"),
    [
        (triggers.Emission.create(), False),
        (triggers.Emission.create(lateness="1 s"), False),
        (triggers.Emission.create(late=triggers.after_count(2), lateness="1 s"), True),
        (triggers.Emission.create(trigger=triggers.after_watermark(), lateness="1 s"), True),
        (triggers.Emission.create(trigger=triggers.after_count(3)), True),
        (triggers.Emission.create(trigger=triggers.repeatedly(triggers.after_count(3))), False),
        (
            triggers.Emission.create(
                trigger=triggers.in_sequence(
                    triggers.after_count(1), triggers.repeatedly(triggers.after_count(2))
                )
            ),
            False,
        ),
        (
            triggers.Emission.create(
                trigger=triggers.or_finally(
                    triggers.repeatedly(triggers.after_count(2)), triggers.after_count(9)
                )
            ),
            True,
        ),
    ],
)
def test_a_trigger_knows_whether_it_may_lose_rows(emission: triggers.Emission, loses: bool) -> None:
    assert emission.may_lose is loses
