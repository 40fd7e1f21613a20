"""Savepoints, upgrades and scaling of jobs.

A running job is stopped gracefully first and started again afterwards. An upgrade is compared with the
checkpoint before anything stops, and is rejected if it needs a replay. It creates a savepoint of the
checkpoint and the submitted files; `restore` restores both.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.access import restrict
from headrace.checkpoints.comparison import Comparison, compare
from headrace.checkpoints.layout import list_checkpoints
from headrace.checkpoints.owner import read_owner
from headrace.checkpoints.planned_state import state_of_checkpoint
from headrace.checkpoints.rename import rename_state
from headrace.checkpoints.savepoints import (
    create_savepoint,
    find_savepoint,
    list_savepoints,
    restore_savepoint,
)
from headrace.errors import OptionError
from headrace.jobs.autoscaling import AutoscaleRule
from headrace.jobs.directory import JobDirectory, read_json, write_json
from headrace.jobs.model import Job, JobSettings
from headrace.jobs.security.documents import apply_defaults, check_memory, check_submission
from headrace.jobs.states import ENDED, ConflictError, JobState
from headrace.jobs.submission import Submission
from headrace.spark.versions import REPARTITIONING

if TYPE_CHECKING:
    from headrace.jobs.service import JobService
    from headrace.plan.graph import Graph

STOP_SECONDS = 100.0
"""The timeout of a graceful stop; after it the request fails, and the job stays stopped."""
_POLL = 0.1
_FILES = "savepoint-files"
_SCALABLE = {JobState.SUBMITTED, JobState.RUNNING, *ENDED} - {JobState.DRAINED}


class JobUpgrades:
    """Savepoints, upgrades and scaling of the jobs of a service."""

    def __init__(self, service: JobService) -> None:
        self._service = service

    def savepoint(self, job: str, name: str) -> Job:
        """Store checkpoint and files of a job under a name.

        Raises:
            ConflictError: the job is draining, or does not stop.
            OptionError: the name is invalid or taken, or there is no checkpoint yet.
        """
        return self._while_stopped(job, lambda current: self._save(current, name))

    def upgrade(self, job: str, submission: Submission) -> tuple[Job, str | None]:
        """Replace the pipeline of a job and start it from its checkpoint.

        Settings that the submission does not set stay as they are. A Python file is loaded, and compared with
        the checkpoint, only by the driver.

        Returns:
            The job, and the savepoint of the state before; None if the job had no checkpoint.

        Raises:
            ConflictError: the new pipeline needs a replay, or the job is drained or does not stop.
            OptionError: a path, a size or a setting is not accepted.
            DocumentError: the document is invalid.
            PlanError: the plan is invalid.
        """
        check_submission(submission, self._service.policy)
        current = self._service.get(job)
        check_memory(_merge_settings(current, submission), self._service.policy)
        comparison = self.compare(current, submission)
        if comparison is not None and comparison.verdict == "replay":
            raise _needs_replay(current, comparison)

        saved: list[str] = []

        def act(stopped: Job) -> None:
            if list_checkpoints(self._service.directory(job).checkpoint):
                saved.append(self._free_name(job, f"before-{submission.version}"))
                self._save(stopped, saved[0])
            self._migrate(stopped, submission, comparison)
            self._replace_files(stopped, submission)

        return self._while_stopped(job, act, start=True), next(iter(saved), None)

    def scale(
        self,
        job: str,
        *,
        partitions: int | None = None,
        executors: int | None = None,
        reason: str = "scaled by request",
    ) -> Job:
        """Change the numbers of state partitions and executors; a running job is restarted.

        The driver of the next attempt rewrites the state before it starts the queries.

        Raises:
            ConflictError: the state of the job does not allow it.
            OptionError: no number is given, or a local job cannot have executors.
        """
        numbers = {"partitions": partitions, "executors": executors}
        changes = {name: number for name, number in numbers.items() if number is not None}
        with self._service.lock:
            current = self._service.get(job)
            _check_scaling(current, changes)
            settings = {**current.settings.model_dump(), **changes}
            self._change(current, current.file, current.version, settings)
            if current.state is JobState.RUNNING:
                return self._service.restart(job, reason)
            return self._service.get(job)

    def scale_by_rule(self, job: str, executors: int, partitions: int | None, reason: str) -> None:
        """Scale a job because its rule applies; a job that is no longer running is left as it is."""
        with self._service.lock:
            if self._service.get(job).state is JobState.RUNNING:
                self.scale(job, partitions=partitions, executors=executors, reason=reason)

    def autoscale(self, job: str, rule: AutoscaleRule | None) -> Job:
        """Set the rule that scales a job by its lag, or remove it; the job continues to run.

        Raises:
            OptionError: the job is local.
        """
        with self._service.lock:
            current = self._service.get(job)
            settings = {**current.settings.model_dump(), "autoscale": rule and rule.model_dump()}
            self._change(current, current.file, current.version, settings)
            return self._service.get(job)

    def restore(self, job: str, name: str) -> Job:
        """Restore checkpoint and files of a savepoint and start the job from there.

        Raises:
            ConflictError: the job does not stop.
            OptionError: there is no such savepoint.
        """
        directory = self._service.directory(self._service.get(job).id)
        savepoint = find_savepoint(directory.checkpoint, name)

        def act(stopped: Job) -> None:
            restore_savepoint(savepoint.pipeline, directory.checkpoint, name)
            place = directory.path / _FILES / name
            record = read_json(place / "job.json")
            if record is not None:
                self._replace_directory(directory, place / "files")
                self._change(stopped, record["file"], record["version"], record["settings"])

        return self._while_stopped(job, act, start=True)

    def restore_effects(self, job: str, name: str) -> list[str]:
        """Return the effect on each sink of restoring a savepoint; empty if it holds no plan of a driver."""
        place = self._service.directory(job).path / _FILES / name
        effects: list[str] = (read_json(place / "plan.json") or {}).get("restore_effects", [])
        return effects

    def _while_stopped(self, job: str, act: Callable[[Job], None], *, start: bool = False) -> Job:
        """Stop the job, run an action, and start the job again if it was running."""
        started = self._stop(job)
        try:
            with self._service.lock:
                act(self._service.get(job))
        except BaseException:
            if started:
                self._service.restart(job)
            raise
        return self._service.restart(job) if started or start else self._service.get(job)

    def _stop(self, job: str) -> bool:
        """Stop a job gracefully and wait for it; return True if it was active."""
        state = self._service.get(job).state
        if state is JobState.DRAINED:
            raise ConflictError("a job that is drained has ended for good", where=f"job {job}")
        if state in ENDED:
            return False
        self._service.stop_job(job)
        deadline = time.monotonic() + STOP_SECONDS
        while self._service.get(job).state not in ENDED:
            if time.monotonic() > deadline:
                raise ConflictError("the job is still stopping", where=f"job {job}", hint="try again later")
            time.sleep(_POLL)
        return True

    def compare(self, job: Job, submission: Submission) -> Comparison | None:
        """Compare a document with the checkpoint; None without a checkpoint, or if the document loads Python.

        Raises:
            DocumentError: the document is invalid.
            PlanError: the plan is invalid.
        """
        checkpoint = self._service.directory(job.id).checkpoint
        if submission.is_code or not list_checkpoints(checkpoint):
            return None
        return compare(state_of_checkpoint(checkpoint), self._plan(submission))

    def _plan(self, submission: Submission) -> Graph:
        with restrict(self._service.policy.access):
            return submission.parse()._plan()

    def _save(self, job: Job, name: str) -> None:
        directory = self._service.directory(job.id)
        create_savepoint(read_owner(directory.checkpoint) or job.name, directory.checkpoint, name)
        place = directory.path / _FILES / name
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(directory.files, place / "files")
        if (plan := read_json(directory.plan)) is not None:
            write_json(place / "plan.json", plan)
        record = {"file": job.file, "version": job.version, "settings": job.settings.model_dump()}
        write_json(place / "job.json", record)

    def _free_name(self, job: str, name: str) -> str:
        taken = {each.name for each in list_savepoints(self._service.directory(job).checkpoint)}
        names = (name if not number else f"{name}.{number}" for number in range(len(taken) + 1))
        return next(each for each in names if each not in taken)

    def _migrate(self, job: Job, submission: Submission, comparison: Comparison | None) -> None:
        moved = [change for change in comparison.steps if change.renamed_from] if comparison else []
        for change in moved:
            graph, checkpoint = self._plan(submission), self._service.directory(job.id).checkpoint
            rename_state(graph, checkpoint, change.renamed_from, change.step)

    def _replace_files(self, job: Job, submission: Submission) -> None:
        directory = self._service.directory(job.id)
        draft = directory.path / "files.new"
        shutil.rmtree(draft, ignore_errors=True)
        submission.store(draft)
        self._replace_directory(directory, draft)
        shutil.rmtree(draft)
        settings = _merge_settings(job, submission).model_dump()
        self._change(job, submission.file, submission.version, settings, submission.files)

    def _replace_directory(self, directory: JobDirectory, source: Path) -> None:
        """Copy new files over the submitted ones; data files that are not uploaded again stay."""
        shutil.copytree(source, directory.files, dirs_exist_ok=True)

    def _change(
        self, job: Job, file: str, version: str, settings: dict[str, object], files: Iterable[str] = ()
    ) -> None:
        record = self._service.directory(job.id).path / "job.json"
        known = read_json(record) or {}
        names = {"files": sorted({*known["files"], *files})} if "files" in known else {}
        checked = apply_defaults(JobSettings.model_validate(settings), self._service.policy)
        write_json(record, {"file": file, "settings": checked.model_dump(), **names})
        self._service.store.change(job, file=file, version=version, settings=checked)


def _merge_settings(job: Job, submission: Submission) -> JobSettings:
    """Return the settings of a job, overridden by those that a submission sets."""
    changes = submission.settings.model_dump(include=submission.settings.model_fields_set)
    return JobSettings.model_validate({**job.settings.model_dump(), **changes})


def _check_scaling(job: Job, changes: Mapping[str, int]) -> None:
    if job.state not in _SCALABLE:
        raise ConflictError(f"a job that is {job.state} cannot be scaled", where=f"job {job.id}")
    if not changes:
        raise OptionError("expected `partitions`, `executors` or both", where="scale")
    if "partitions" in changes:
        REPARTITIONING.require("scale")
    if "executors" in changes and job.settings.is_local:
        hint = "submit the job with --master, or scale its partitions only"
        raise OptionError("a local job has no executors", where="executors", hint=hint)


def _needs_replay(job: Job, comparison: Comparison) -> ConflictError:
    changes = [change for change in comparison.steps if change.verdict == "replay"]
    reasons = "; ".join(f"`{change.step}`: {', '.join(change.reasons)}" for change in changes)
    hint = "submit it as a new job, or rename the steps; headrace diff lists the effect on sinks"
    return ConflictError(f"the new pipeline needs a replay: {reasons}", where=f"job {job.id}", hint=hint)
