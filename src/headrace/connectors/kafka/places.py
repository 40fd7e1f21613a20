"""Places in topics: where a reader begins, as people write it (an end, an offset, a time), and what it reads at all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from headrace.errors import OptionError

if TYPE_CHECKING:
    from headrace.connectors.kafka import Kafka

ENDS = "earliest", "latest"


def offsets(wanted: int, bounds: Mapping[int, tuple[int, int]], topic: str) -> dict[int, int]:
    """The offset in each partition: the wanted one, or the nearest there is; negative ones count from the end.

    A place that is behind the end of all partitions is refused: a consumer that was sent there would begin anywhere else.

    >>> offsets(7, {0: (0, 9), 1: (0, 5)}, "t"), offsets(-2, {0: (0, 9), 1: (4, 5)}, "t")
    ({0: 7, 1: 5}, {0: 7, 1: 4})
    """
    last = max(high for _, high in bounds.values())
    if wanted > last:
        raise OptionError(
            f"expected an offset of `{topic}`, which ends at {last}, got {wanted}",
            where="--from",
            hint="latest is its end, -5 are the last five records",
        )
    return {
        number: min(max(wanted if wanted >= 0 else high + wanted, low), high)
        for number, (low, high) in bounds.items()
    }


def moment(text: str) -> datetime:
    """A time in ISO form; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise OptionError(
            f"expected earliest, latest, an offset or a time, got {text!r}",
            where="--from",
            hint="a time is written as 2026-03-01T12:00:00Z",
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def counted(options: Kafka) -> tuple[str, ...]:
    """What the positions of a source are in: topics or partitions; of a pattern that is known to Kafka alone."""
    if options.assign:
        return tuple(f"{topic}-{number}" for topic in options.assign for number in options.assign[topic])
    return (options.topic,) if options.topic else tuple(options.topics)


def reads(options: Kafka, place: str) -> bool:
    """Whether a source still reads a topic or partition that it once did.

    >>> from headrace.connectors.kafka import Kafka
    >>> [reads(Kafka(servers="h:1", topic="a-1"), place) for place in ("a-1", "a-1-0", "a-0")]
    [True, True, False]
    """
    names = (place, place.rpartition("-")[0])
    if options.pattern is None:
        return any(name in counted(options) for name in names)
    try:
        return any(re.fullmatch(options.pattern, name) for name in names)
    except re.error:  # one that Java knows and Python doesn't
        return True
