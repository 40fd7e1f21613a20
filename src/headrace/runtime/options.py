"""Options of a run: `until`, `mode`, `every`, `checkpoint` and others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from headrace.connectors.base import Guarantee
from headrace.durations import Duration, microseconds
from headrace.errors import OptionError, did_you_mean

Until = Literal["stopped", "caught_up", "drained"]
ExecutionMode = Literal["micro_batch", "real_time"]

MIN_REAL_TIME_BATCH = 5_000_000
"""Spark's minimum length of a real-time batch, in microseconds."""


@dataclass(frozen=True)
class RunOptions:
    """Options of a run, validated at construction.

    >>> RunOptions(until="caught_up").bounded
    True
    """

    until: Until = "stopped"
    """`"stopped"`: run until stopped. `"caught_up"`: process the available input and exit; windows stay
    open for the next run. `"drained"`: process the available input, fire and close every window and end
    the job for good.
    """
    mode: ExecutionMode = "micro_batch"
    """`"real_time"` passes rows from Kafka to Kafka within milliseconds, at least once."""
    every: Duration | None = None
    """Interval between micro-batches; default: as fast as possible. In real-time mode: length of a batch,
    default 1 minute.
    """
    fresh: bool = False
    """Start with a new checkpoint and move the previous one aside. Nothing is deleted from the sinks."""
    standby: bool = False
    """Start Spark and wait until the active run of the pipeline fails or is killed, then resume from its
    checkpoint; end if that run is stopped. Run at once if there is no other run.
    """
    progress: bool | None = None
    """Show progress; default: on a terminal and in notebooks."""
    guarantee: Guarantee | None = None
    """Reject the plan if its sources and sinks provide less; default: the best guarantee they provide."""
    checkpoint: str | Path | None = None
    """The checkpoint directory; default: `.headrace/<name>`."""
    master: str | None = None
    """The Spark master; default: `local[*]`."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Spark settings."""

    def __post_init__(self) -> None:
        _require_word("until", self.until, get_args(Until))
        _require_word("mode", self.mode, get_args(ExecutionMode))
        if self.guarantee is not None:
            _require_word("guarantee", self.guarantee, get_args(Guarantee))
        period = self.period
        if self.bounded and self.mode == "real_time":
            raise OptionError(
                f"real-time mode does not end by itself and cannot run until {self.until}",
                where="mode",
                hint='leave out `mode` to run until "caught_up" or "drained"',
            )
        if self.bounded and self.every is not None:
            raise OptionError(
                f"`every` cannot be combined with until={self.until!r}",
                where="every",
                hint="a bounded run processes the available input as fast as possible: leave out `every`",
            )
        if self.standby and self.fresh:
            raise OptionError(
                "a standby resumes from the checkpoint of another run, which `fresh` would move aside",
                where="standby",
                hint="leave out `fresh`",
            )
        if self.mode == "real_time" and (period or MIN_REAL_TIME_BATCH) < MIN_REAL_TIME_BATCH:
            raise OptionError(
                f"expected real-time batches of at least 5 seconds, got {self.every}",
                where="every",
                hint="a long batch delays commits and the watermark, not rows: try 1 minute",
            )

    @property
    def bounded(self) -> bool:
        """True if the run ends by itself once the available input is processed."""
        return self.until != "stopped"

    @property
    def period(self) -> int | None:
        """`every` in microseconds."""
        return None if self.every is None else microseconds(self.every, where="every")


def _require_word(option: str, value: object, words: tuple[str, ...]) -> None:
    if value not in words:
        hint = did_you_mean(str(value), words)
        raise OptionError(f"expected {', '.join(words)}, got {value!r}", where=option, hint=hint)
