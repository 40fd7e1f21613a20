"""Checks of MQTT topic names and topic filters.

The rules are those of section 4.7 of the MQTT 5 specification; MQTT 3.1.1 has the same, without `$share`.
"""

from __future__ import annotations

MAX_BYTES = 65_535
MAX_LEVELS = 200
"""The depth of topics that mosquitto accepts; the specification has no limit."""
SHARED = "$share/"


def check_topic(topic: str) -> str:
    """Return a topic name to publish to.

    >>> check_topic("building/12/temperature")
    'building/12/temperature'

    Raises:
        ValueError: it is empty, too long, or has a wildcard.
    """
    _check_text(topic, "topic")
    if "+" in topic or "#" in topic:
        raise ValueError(f"the topic `{topic}` has a wildcard; a message is published to one topic")
    return topic


def check_filter(filter: str) -> str:  # noqa: A002 - the word of the specification
    """Return a topic filter to subscribe to.

    >>> check_filter("$share/jobs/building/+/temperature")
    '$share/jobs/building/+/temperature'

    Raises:
        ValueError: it is empty or too long, `+` or `#` is not a whole level, or `#` is not the last one.
    """
    _check_text(filter, "topic filter")
    if filter.startswith(SHARED):
        group, slash, inner = filter.removeprefix(SHARED).partition("/")
        if not group or not slash or not inner or "+" in group or "#" in group:
            raise ValueError(f"the topic filter `{filter}` is not `$share/<group>/<filter>`")
        check_filter(inner)
        return filter
    levels = filter.split("/")
    for number, level in enumerate(levels):
        if len(level) > 1 and ("+" in level or "#" in level):
            raise ValueError(f"the topic filter `{filter}` has a wildcard beside other characters: `{level}`")
        if level == "#" and number < len(levels) - 1:
            raise ValueError(f"the topic filter `{filter}` has `#` before its last level")
    return filter


def _check_text(text: str, noun: str) -> None:
    if not text:
        raise ValueError(f"the {noun} is empty")
    try:
        length = len(text.encode())
    except UnicodeEncodeError:
        raise ValueError(f"the {noun} {text!r} is not valid UTF-8") from None
    if length > MAX_BYTES:
        raise ValueError(f"the {noun} has {length} bytes; MQTT allows {MAX_BYTES}")
    if "\0" in text:
        raise ValueError(f"the {noun} {text!r} has a null character")
    if text.count("/") > MAX_LEVELS:
        raise ValueError(f"the {noun} has more than {MAX_LEVELS} levels")
