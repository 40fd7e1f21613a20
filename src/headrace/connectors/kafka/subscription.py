"""The topics and partitions that a source reads."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.connectors.kafka import Kafka

LEDGER = "_headrace_ledger"
"""The compacted topic of the sinks' ledgers, one for all pipelines of a cluster."""


def subscription(options: Kafka) -> dict[str, str]:
    """Return the option of Spark's reader that selects the topics."""
    if options.pattern:
        return {"subscribePattern": f"(?!{LEDGER}$)(?:{options.pattern})"}  # `.*` does not mean the ledger
    if options.assign:
        return {"assign": json.dumps(options.assign)}
    return {"subscribe": ",".join(topic_names(options))}


def topic_names(options: Kafka) -> tuple[str, ...]:
    """Return the topics that the options name; none for a pattern."""
    return (options.topic,) if options.topic else tuple(options.topics) or tuple(options.assign)


def offset_identity(options: Kafka) -> tuple[str, ...]:
    """Return the topics or partitions that offsets refer to; none for a pattern."""
    if options.assign:
        return tuple(f"{topic}-{number}" for topic in options.assign for number in options.assign[topic])
    return topic_names(options)


def includes(options: Kafka, name: str) -> bool:
    """Return True if a source reads a topic, or a partition such as `payments-3`.

    >>> from headrace.connectors.kafka import Kafka
    >>> [includes(Kafka(servers="h:1", topic="a-1"), name) for name in ("a-1", "a-1-0", "a-0")]
    [True, True, False]
    """
    candidates = (name, name.rpartition("-")[0])
    if options.pattern is None:
        return any(candidate in offset_identity(options) for candidate in candidates)
    try:
        return any(re.fullmatch(options.pattern, candidate) for candidate in candidates)
    except re.error:  # valid in Java only
        return True
