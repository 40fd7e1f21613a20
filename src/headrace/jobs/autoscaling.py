"""Scale jobs by their lag: more executors while records wait, fewer once they do not.

A job is scaled as `headrace jobs scale` does it: it stops gracefully, and its next attempt starts with the
new number of executors. The changes are transitions of the job, which a service that is started again reads.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from headrace.connectors.options import seconds_of
from headrace.durations import microseconds
from headrace.errors import DurationError, HeadraceError

Direction = Literal["up", "down"]
_log = logging.getLogger("headrace.jobs")
REASON = "scaled"
"""The first word of the reason of a transition that changes the size of a job."""


def _check_duration(text: str) -> str:
    try:
        microseconds(text, where="duration")
    except DurationError as error:
        raise ValueError(str(error)) from None
    return text


DurationText = Annotated[str, AfterValidator(_check_duration), Field(max_length=100)]


class AutoscaleRule(BaseModel):
    """The limits within which a job is scaled by its lag, and when.

    >>> rule = AutoscaleRule(max_executors=4, lag_above=100_000, lag_below=1_000)
    >>> rule.target(1, "up"), rule.target(3, "up"), rule.target(3, "down"), rule.target(1, "down")
    (2, 4, 2, 1)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_executors: int = Field(default=1, ge=1, le=100_000, description="The smallest number of executors.")
    max_executors: int = Field(ge=1, le=100_000, description="The largest number of executors.")
    lag_above: int = Field(ge=1, description="Add executors while more records than these wait.")
    lag_below: int = Field(default=0, ge=0, description="Remove executors while at most these records wait.")
    duration: DurationText = Field(
        default="1 minute",
        description="How long the lag must be there before the job is scaled.",
    )
    cooldown: DurationText = Field(
        default="5 minutes", description="The least time between two changes, and after a start."
    )
    partitions_per_executor: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="Rewrite the state in this number of partitions per executor; default: leave it.",
    )

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        if self.max_executors < self.min_executors:
            raise ValueError(
                f"max_executors {self.max_executors} is less than min_executors {self.min_executors}"
            )
        if self.lag_below >= self.lag_above:
            raise ValueError(f"lag_below {self.lag_below} is not less than lag_above {self.lag_above}")
        return self

    def target(self, executors: int, direction: Direction) -> int:
        """Return twice or half the number of executors, within the limits."""
        wanted = executors * 2 if direction == "up" else (executors + 1) // 2
        return min(max(wanted, self.min_executors), self.max_executors)

    def partitions(self, executors: int) -> int | None:
        """Return the number of state partitions for a number of executors; None: leave it as it is."""
        return executors * self.partitions_per_executor if self.partitions_per_executor else None

    def describe(self) -> str:
        """Return the rule in words."""
        limits = f"{self.min_executors} to {self.max_executors} executors"
        more = f"more above a lag of {self.lag_above:,} for {self.duration}"
        return f"{limits}; {more}, fewer at {self.lag_below:,} or below; {self.cooldown} between two changes"


@dataclass
class _Watch:
    """The direction in which the lag of a job points, and since when."""

    direction: Direction | None = None
    since: float = 0.0


@dataclass
class Autoscaler:
    """Applies the rules of jobs to their snapshots.

    `scale` changes a job: its id, the numbers of executors and partitions, and the reason. `last_change`
    returns the time at which the job last began to run.
    """

    scale: Callable[[str, int, int | None, str], object]
    last_change: Callable[[str], float]
    clock: Callable[[], float] = time.time
    _watches: dict[str, _Watch] = field(default_factory=dict)

    def observe(self, snapshots: Sequence[Mapping[str, Any]]) -> None:
        """Scale the jobs whose rule applies."""
        ruled = [
            each for each in snapshots if each["settings"].get("autoscale") and each["state"] == "running"
        ]
        self._watches = {each["id"]: self._watches.get(each["id"], _Watch()) for each in ruled}
        for snapshot in ruled:
            rule = AutoscaleRule.model_validate(snapshot["settings"]["autoscale"])
            self._apply(rule, snapshot, self._watches[snapshot["id"]])

    def _apply(self, rule: AutoscaleRule, snapshot: Mapping[str, Any], watch: _Watch) -> None:
        job, lag, now = snapshot["id"], snapshot["metrics"].get("lag"), self.clock()
        direction = _direction(rule, lag)
        if direction != watch.direction:
            watch.direction, watch.since = direction, now
        if direction is None or now - watch.since < seconds_of(rule.duration):
            return
        executors = snapshot["settings"].get("executors") or rule.min_executors
        target = rule.target(executors, direction)
        if target == executors or now - self.last_change(job) < seconds_of(rule.cooldown):
            return
        limit = f"above {rule.lag_above:,}" if direction == "up" else f"at most {rule.lag_below:,}"
        size = f"{direction} from {executors} to {target} executors"
        reason = f"{REASON} {size}: lag {lag:,}, {limit} for {rule.duration}"
        watch.since = now
        try:
            self.scale(job, target, rule.partitions(target), reason)
        except HeadraceError as error:  # the job has ended meanwhile, or cannot be scaled
            _log.warning("job %s is not %s: %s", job, reason, error)


def _direction(rule: AutoscaleRule, lag: int | None) -> Direction | None:
    if lag is None:
        return None
    return "up" if lag > rule.lag_above else "down" if lag <= rule.lag_below else None
