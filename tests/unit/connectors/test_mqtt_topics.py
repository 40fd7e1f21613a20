"""Topic names and filters, with cases from the tests of mosquitto (EPL-2.0/EDL-1.0) and paho (EPL-2.0/EDL-1.0)."""

from __future__ import annotations

import pytest

from headrace.connectors.mqtt.topics import MAX_BYTES, MAX_LEVELS, check_filter, check_topic, matches

MATCHING = [
    ("foo/#", "foo/"),
    ("foo/#", "foo"),
    ("foo//bar", "foo//bar"),
    ("foo//+", "foo//bar"),
    ("foo/+/+/baz", "foo///baz"),
    ("foo/+", "foo/"),
    ("foo/bar", "foo/bar"),
    ("foo/+/baz", "foo/bar/baz"),
    ("foo/+/#", "foo/bar/baz"),
    ("foo/+/#", "foo/bar"),
    ("A/B/+/#", "A/B/B/C"),
    ("#", "foo/bar/baz"),
    ("#", "/foo/bar"),
    ("/#", "/foo/bar"),
    ("+/+", "/finance"),
    ("/+", "/finance"),
    ("$SYS/#", "$SYS/bar"),
    ("$SYS/+", "$SYS/bar"),
    ("$share/jobs/foo/+", "foo/bar"),
    ("gr\u00fc\u00dfe/+", "gr\u00fc\u00dfe/\u4f60\u597d"),
    ("foo/ /bar", "foo/ /bar"),
]
DIFFERENT = [
    ("test/6/#", "test/3"),
    ("foo/bar", "foo"),
    ("foo/+", "foo/bar/baz"),
    ("foo/+/baz", "foo/bar/bar"),
    ("foo/+/#", "fo2/bar/baz"),
    ("foo/+/#", "foo"),
    ("/#", "foo/bar"),
    ("+", "/finance"),
    ("#", "$SYS/bar"),
    ("+/bar", "$SYS/bar"),
    ("$BOB/bar", "$SYS/bar"),
    ("$share/jobs/#", "$SYS/bar"),
    ("foo/bar", "foo/Bar"),
    ("foo", "foo/"),
]
BAD_FILTERS = (
    *("fo+o", "+foo/bar", "foo/+bar", "+foo", "foo+", "foo+/bar", "foo/bar+", "fo#o", "#foo/bar", "foo/#bar"),
    *(
        "foo#",
        "foo/#a",
        "foo/#abc",
        "/#a",
        "foo/#/bar",
        "#/",
        "",
        "foo\0bar",
        "a" * (MAX_BYTES + 1),
        "\ud800",
    ),
    *("/" * (MAX_LEVELS + 1), "$share/", "$share/jobs", "$share/jobs/", "$share//foo", "$share/a+/foo"),
)
BAD_TOPICS = ("foo/+", "foo/bar/#", "pub+/topic", "#pub/topic", "pub/topic/#", "", "a\0", "/" * 201 + "a")


@pytest.mark.parametrize(("chosen", "topic"), MATCHING)
def test_filter_matches_topic(chosen: str, topic: str) -> None:
    assert matches(chosen, topic)


@pytest.mark.parametrize(("chosen", "topic"), DIFFERENT)
def test_filter_does_not_match_topic(chosen: str, topic: str) -> None:
    assert not matches(chosen, topic)


@pytest.mark.parametrize("chosen", BAD_FILTERS)
def test_invalid_filter_is_refused(chosen: str) -> None:
    with pytest.raises(ValueError, match="topic filter"):
        check_filter(chosen)
    with pytest.raises(ValueError, match="topic filter"):
        matches(chosen, "foo")


@pytest.mark.parametrize("topic", BAD_TOPICS)
def test_invalid_topic_is_refused(topic: str) -> None:
    with pytest.raises(ValueError, match="topic"):
        check_topic(topic)
    with pytest.raises(ValueError, match="topic"):
        matches("foo/#", topic)


def test_deepest_and_longest_topics_are_valid() -> None:
    assert matches("#", "/" * MAX_LEVELS)
    assert matches("+", "a" * MAX_BYTES)
