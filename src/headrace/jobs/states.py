"""The states of a job and the legal transitions between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from headrace.errors import HeadraceError


class JobState(StrEnum):
    """The state of a job.

    >>> JobState.RUNNING.active, JobState.DRAINED.active
    (True, False)
    """

    SUBMITTED = "submitted"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    DRAINING = "draining"
    DRAINED = "drained"
    RESTARTING = "restarting"
    FAILED = "failed"
    KILLED = "killed"

    @property
    def active(self) -> bool:
        """True if the job has a driver process, or the supervisor will start one."""
        return self not in ENDED


ENDED = frozenset({JobState.STOPPED, JobState.DRAINED, JobState.FAILED, JobState.KILLED})
"""The states of a job without a driver process; only `restart` leaves them."""

_S = JobState
TRANSITIONS: Mapping[JobState, frozenset[JobState]] = {
    _S.SUBMITTED: frozenset({_S.STARTING, _S.STOPPED, _S.FAILED, _S.KILLED}),
    _S.STARTING: frozenset(
        {
            _S.RUNNING,
            _S.STOPPING,
            _S.STOPPED,
            _S.DRAINING,
            _S.DRAINED,
            _S.RESTARTING,
            _S.FAILED,
            _S.KILLED,
        }
    ),
    _S.RUNNING: frozenset(
        {_S.STOPPING, _S.STOPPED, _S.DRAINING, _S.DRAINED, _S.RESTARTING, _S.FAILED, _S.KILLED}
    ),
    _S.STOPPING: frozenset({_S.STOPPED, _S.DRAINED, _S.FAILED, _S.KILLED}),
    _S.DRAINING: frozenset({_S.DRAINED, _S.STOPPED, _S.RESTARTING, _S.FAILED, _S.KILLED}),
    _S.RESTARTING: frozenset({_S.STARTING, _S.STOPPING, _S.STOPPED, _S.FAILED, _S.KILLED}),
    _S.STOPPED: frozenset({_S.STARTING}),
    _S.FAILED: frozenset({_S.STARTING}),
    _S.KILLED: frozenset({_S.STARTING}),
    _S.DRAINED: frozenset(),
}
"""The states that may follow each state."""


class JobError(HeadraceError):
    """A request that the job service rejects."""


class NotFoundError(JobError):
    """The service has no job, user, silence or side output of this name."""


class UnknownJobError(NotFoundError):
    """No job has this id."""


class ConflictError(JobError):
    """The state of the job does not allow the request."""


def is_legal(before: JobState, after: JobState) -> bool:
    """True if a job may go from one state to the other.

    >>> is_legal(JobState.RUNNING, JobState.DRAINING), is_legal(JobState.DRAINED, JobState.STARTING)
    (True, False)
    """
    return after in TRANSITIONS[before]
