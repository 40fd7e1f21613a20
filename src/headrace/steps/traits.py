"""Values that describe a step: findings, execution tier, state bound and real-time limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from headrace.errors import did_you_mean

TierName = Literal["native", "kernel", "arrow", "python"]


@dataclass(frozen=True)
class Finding:
    """A problem or a warning about a step; the first of `keys` in its document is the location."""

    what: str
    hint: str = ""
    keys: tuple[str, ...] = ()
    item: str = ""
    """The item inside the value of the key, such as the name of an aggregate."""
    offset: int | None = None
    """The position of the problem in the text of the item, or of the key if there is no item."""
    document_hint: str = ""
    """The hint for a document, if it is not `hint` with the keys of a document."""


@dataclass(frozen=True)
class Tier:
    """The execution tier of a step, with the reason.

    `native`: Spark's operators. `kernel`: Scala operators inside Spark, at about the same cost. `arrow`:
    Python functions over Arrow batches. `python`: user code in Python, to which rows are sent and returned.
    """

    name: TierName
    why: str
    python: str = ""
    """The part that runs in Python; empty if none does."""


@dataclass(frozen=True)
class StateBound:
    """The state of a step, and the bound of its size."""

    kept: str
    """The content of the state, and how long it is kept."""
    grows: str = ""
    """The quantity with which it grows; empty if it is bounded."""
    hint: str = ""
    """How to bound it."""

    def __str__(self) -> str:
        grows = f"; no bound: grows with {self.grows}" if self.grows else ""
        return f"{self.kept}{grows}{f' ({self.hint})' if self.hint else ''}"


@dataclass(frozen=True)
class RealTime:
    """A step in real-time mode: the reasons that exclude it, and what differs from micro-batches."""

    blocked: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()

    @property
    def able(self) -> bool:
        return not self.blocked


@dataclass(frozen=True)
class Blocks:
    """A reason why real-time mode cannot run a step."""

    text: str


@dataclass(frozen=True)
class Differs:
    """A difference between real-time mode and micro-batches."""

    text: str


RealTimeNote = Blocks | Differs


def unknown_columns(
    names: Iterable[str], columns: Iterable[str] | None, role: str, keys: tuple[str, ...] = ()
) -> Iterator[Finding]:
    """Yield a finding for each unknown column; none if the columns are unknown."""
    if columns is None:
        return
    known = {column.lower(): column for column in columns}
    for name in names:
        if name.lower() not in known:
            yield Finding(
                f"unknown {role} column `{name}`", did_you_mean(name, known.values()), keys, item=name
            )
