"""Restrictions on submitted pipelines, for services that other machines can reach."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from headrace.access import CODE_HINT, FILES_HINT, restrict
from headrace.access.effort import limit_effort
from headrace.errors import OptionError
from headrace.jobs.model import JobSettings
from headrace.jobs.security.policy import Policy
from headrace.jobs.submission import Submission, check_files

_SECRET = re.compile(r"secret|password|passwd|token|credential|access\.?key", re.IGNORECASE)
_SAFE_SETTING = re.compile(
    r"spark\.((driver|executor)\.(cores|instances|memory|memoryOverhead|maxResultSize)|cores\.max"
    r"|default\.parallelism|task\.(cpus|maxFailures)|dynamicAllocation\..+|locality\..+|speculation.*"
    r"|memory\.(fraction|storageFraction)|scheduler\.mode"
    r"|sql\.(adaptive|ansi|codegen|execution\.arrow|session\.timeZone|shuffle|streaming)\b.*"
    r"|sql\.(autoBroadcastJoinThreshold|files\.max\w+))"
)
"""Spark settings of sizes and speed. All others could load a class or a library, or use files."""
_CLASS_OR_PLACE = re.compile(
    r"class|codec|compiler|provider|listener|location|dir|path|doubleQuoted", re.IGNORECASE
)
_CODE = """
    bat class dll dylib egg exe groovy jar jnilib pex pth py pyc pyd pyi pyo pyw pyz rar scala sh so tar tbz
    tgz txz war whl zip 7z
"""
_CODE_SUFFIXES = frozenset(_CODE.split())
"""Suffixes of programs, and of archives from which Python or Java can load them."""
_LOCAL_MASTER = re.compile(r"local(?:\[(?P<cores>\d{1,9}|\*)(?:,\d{1,9})?\])?")


def check_submission(submission: Submission, policy: Policy) -> str:
    """Check a pipeline and return its name; a service may restrict the files, code and hosts that it uses.

    Raises:
        OptionError: an uploaded file, a working directory or a setting is not accepted.
        DocumentError: with every part of the document that is invalid or not accepted.
        PlanError: the plan is invalid.
    """
    check_memory(submission.settings, policy)
    if policy.is_restricted:
        _check_directory(submission.directory, policy.allow_files)
        check_master(submission.settings, policy)
        if not policy.allow_code:
            _check_code(submission)
    with restrict(policy.access), limit_effort(submission.file):
        return submission.check()


def check_memory(settings: JobSettings, policy: Policy) -> None:
    """Reject a job that requests more memory than the policy allows."""
    limit = policy.memory_limit
    requested = [settings.memory, settings.conf.get("spark.driver.memory")]
    for size in filter(None, requested):
        if limit is not None and memory_bytes(size) > memory_bytes(limit):
            raise OptionError(f"expected at most {limit}, got {size}", where="memory")


def check_master(settings: JobSettings, policy: Policy) -> None:
    """Reject a Spark master other than the service's own and `local[...]` with the cores of this machine."""
    for master in filter(None, [settings.master, settings.conf.get("spark.master")]):
        local, most = _LOCAL_MASTER.fullmatch(master), os.cpu_count() or 1
        if master == policy.master or (local and not (local["cores"] or "1").isdigit()):
            continue
        if local is None:
            hint = "start the service with --master, or leave it out"
            raise OptionError(f"the Spark master {master} is not accepted", where="master", hint=hint)
        if int(local["cores"] or 1) > most:
            raise OptionError(f"expected at most local[{most}], got {master}", where="master")


def apply_defaults(settings: JobSettings, policy: Policy) -> JobSettings:
    """Return settings in which the memory limit and the master of the service are the defaults.

    Raises:
        OptionError: a local job is to be scaled by its lag.
    """
    defaults = {}
    if policy.memory_limit and not settings.memory and "spark.driver.memory" not in settings.conf:
        defaults["memory"] = policy.memory_limit
    if policy.master and not settings.master and "spark.master" not in settings.conf:
        defaults["master"] = policy.master
    complete = settings.model_copy(update=defaults)
    if complete.autoscale is not None and complete.is_local:
        hint = "submit the job with --master"
        raise OptionError("a local job has no executors", where="autoscale", hint=hint)
    return complete


def hide_secrets(conf: Mapping[str, str]) -> dict[str, str]:
    """Return Spark settings without secret values.

    >>> hide_secrets({"spark.ssl.keyPassword": "x", "spark.ui.port": "1"})
    {'spark.ssl.keyPassword': '***', 'spark.ui.port': '1'}
    """
    return {key: "***" if _SECRET.search(key) else value for key, value in conf.items()}


def _check_directory(directory: str | None, allowed: Path | None) -> None:
    if directory is None:
        return
    if allowed is None or not Path(directory).resolve().is_relative_to(allowed.resolve()):
        raise OptionError("a working directory is not accepted", where="directory", hint=FILES_HINT)


def _check_code(submission: Submission) -> None:
    check_files(submission.files)
    for path in submission.files:
        parts = PurePosixPath(path.lower()).parts
        suffixes = {suffix for part in parts for suffix in part.split(".")[1:]}
        if "py" in suffixes:
            raise OptionError("a Python file is not accepted", where=path, hint=CODE_HINT)
        if not suffixes.isdisjoint(_CODE_SUFFIXES):
            raise OptionError("a program or an archive is not accepted", where=path, hint=CODE_HINT)
    for key, value in submission.settings.conf.items():
        if "${" in value:  # Spark replaces variables of the environment in settings
            raise OptionError("a variable in a setting is not accepted", where=key, hint=CODE_HINT)
        own = key == "spark.master"  # decided by check_master
        if not own and (not _SAFE_SETTING.fullmatch(key) or _CLASS_OR_PLACE.search(key)):
            raise OptionError("this setting can load code or use files", where=key, hint=CODE_HINT)


def memory_bytes(size: str, *, where: str = "memory") -> int:
    """Return the number of bytes of a size such as `2g`."""
    units = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
    number = re.fullmatch(r"(\d+)([kmgt])b?", size.strip().lower())
    if number is None:
        raise OptionError(f"expected a size such as 512m or 2g, got {size!r}", where=where)
    return int(number[1]) * units[number[2]]
