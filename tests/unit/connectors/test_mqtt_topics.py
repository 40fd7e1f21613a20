"""Topic names and filters, with cases from the tests of mosquitto (EPL-2.0/EDL-1.0) and paho (EPL-2.0/EDL-1.0)."""

from __future__ import annotations

import pytest

from headrace.connectors.mqtt.topics import MAX_BYTES, MAX_LEVELS, check_filter, check_topic

VALID = [
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


@pytest.mark.parametrize(("chosen", "topic"), VALID)
def test_filter_and_topic_are_valid(chosen: str, topic: str) -> None:
    assert check_filter(chosen) == chosen
    assert check_topic(topic) == topic


@pytest.mark.parametrize("chosen", BAD_FILTERS)
def test_invalid_filter_is_refused(chosen: str) -> None:
    with pytest.raises(ValueError, match="topic filter"):
        check_filter(chosen)


@pytest.mark.parametrize("topic", BAD_TOPICS)
def test_invalid_topic_is_refused(topic: str) -> None:
    with pytest.raises(ValueError, match="topic"):
        check_topic(topic)


def test_deepest_and_longest_topics_are_valid() -> None:
    for topic in ("/" * MAX_LEVELS, "a" * MAX_BYTES):
        assert check_topic(topic) == check_filter(topic) == topic
