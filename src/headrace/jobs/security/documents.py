"""Restrictions on submitted pipelines, for services that other machines can reach."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from headrace.errors import DocumentError, OptionError, Problem
from headrace.jobs.model import JobSettings
from headrace.jobs.security.policy import Policy
from headrace.jobs.submission import CODE_KEYS, NOT_YAML, Submission
from headrace.yaml.variables import expand

_JAVA_CALL = re.compile(r"\b(try_reflect|reflect|java_method)\b", re.IGNORECASE)
_PATH_TABLE = re.compile(
    r"`[^`]*[/\\][^`]*`|\b(json|csv|text|parquet|orc|avro|xml|binaryfile)\s*\.\s*`", re.IGNORECASE
)
_QUOTE_AND_COMMENT = re.compile(r"`.*(/\*|--)|(/\*|--).*`", re.DOTALL)
"""A comment could separate the parts of a path that is queried as a table."""
_LOCAL_PATH = re.compile(
    r"^\s*(/|~|file:|jar:|\\|[A-Za-z]:[\\/])|(^|[/\\])\.\.([/\\]|$)|=\s*(/|~|%2f)", re.IGNORECASE
)
_CODE_OPTION = re.compile(r"jaas|\.class(es)?$|interceptor|reporter|provider|serializer", re.IGNORECASE)
_SECRET = re.compile(r"secret|password|passwd|token|credential|access\.?key", re.IGNORECASE)
_SAFE_SETTING = re.compile(
    r"spark\.((driver|executor)\.(cores|instances|memory|memoryOverhead|maxResultSize)|cores\.max"
    r"|default\.parallelism|task\.(cpus|maxFailures)|dynamicAllocation\..+|locality\..+|speculation.*"
    r"|memory\.(fraction|storageFraction)|scheduler\.mode"
    r"|sql\.(adaptive|ansi|codegen|execution\.arrow|session\.timeZone|shuffle|streaming)\b.*"
    r"|sql\.(autoBroadcastJoinThreshold|files\.max\w+))"
)
"""Spark settings of sizes and speed. All others could load a class or a library, or use files."""
_CLASS_OR_PLACE = re.compile(r"class|provider|listener|location|dir|path", re.IGNORECASE)
_FILES_HINT = "start the service with --allow-files DIR"
_CODE_HINT = "start the service with --allow-code"


def check_submission(submission: Submission, policy: Policy) -> None:
    """Reject a pipeline that uses files or code of this machine, unless the policy allows it.

    Raises:
        OptionError: a Python file, a working directory or a setting is not accepted.
        DocumentError: with every part of the document that is not accepted.
    """
    check_memory(submission.settings, policy)
    if not policy.is_restricted:
        return
    if submission.directory is not None and not _is_inside(submission.directory, policy.allow_files):
        raise OptionError("a working directory is not accepted", where="directory", hint=_FILES_HINT)
    if not policy.allow_code:
        _check_code(submission)
    if submission.file.endswith((".yaml", ".yml")):
        check_text(submission.text, submission.file, policy)


def check_text(text: str, file: str, policy: Policy) -> None:
    """Reject a document that uses files or code of this machine, before it is loaded.

    Raises:
        DocumentError: with every place that is not accepted.
    """
    if policy.is_restricted and (problems := list(_find_problems(text, file, policy))):
        raise DocumentError(problems)


def check_memory(settings: JobSettings, policy: Policy) -> None:
    """Reject a job that requests more memory than the policy allows."""
    limit = policy.memory_limit
    requested = [settings.memory, settings.conf.get("spark.driver.memory")]
    for size in filter(None, requested):
        if limit is not None and memory_bytes(size) > memory_bytes(limit):
            raise OptionError(f"expected at most {limit}, got {size}", where="memory")


def limit_memory(settings: JobSettings, policy: Policy) -> JobSettings:
    """Return settings in which the memory limit of the service is the default."""
    if policy.memory_limit is None or settings.memory or "spark.driver.memory" in settings.conf:
        return settings
    return settings.model_copy(update={"memory": policy.memory_limit})


def hide_secrets(conf: Mapping[str, str]) -> dict[str, str]:
    """Return Spark settings without secret values.

    >>> hide_secrets({"spark.ssl.keyPassword": "x", "spark.ui.port": "1"})
    {'spark.ssl.keyPassword': '***', 'spark.ui.port': '1'}
    """
    return {key: "***" if _SECRET.search(key) else value for key, value in conf.items()}


def _check_code(submission: Submission) -> None:
    if submission.file.endswith(".py"):
        raise OptionError("a Python file is not accepted", where=submission.file, hint=_CODE_HINT)
    for key in submission.settings.conf:
        if not _SAFE_SETTING.fullmatch(key) or _CLASS_OR_PLACE.search(key):
            raise OptionError("this setting can load code or use files", where=key, hint=_CODE_HINT)


def _find_problems(document: str, file: str, policy: Policy) -> Iterator[Problem]:
    for path, key, raw in _texts(_parse(document, file), ()):
        text = _expand(raw)
        where = f"{file}: {'.'.join((*path, key))}"
        if not policy.allow_code:
            yield from _code_problems(where, key, text)
        if _LOCAL_PATH.search(text) and not _is_inside(text, policy.allow_files):
            yield Problem(where, "a path of the service's machine is not accepted", _FILES_HINT)


def _code_problems(where: str, key: str, text: str) -> Iterator[Problem]:
    if key in CODE_KEYS or key == "python":
        yield Problem(where, "a step that loads Python is not accepted", _CODE_HINT)
    if _CODE_OPTION.search(key):
        yield Problem(where, "this option can load code", _CODE_HINT)
    if _JAVA_CALL.search(text):
        yield Problem(where, "a function that calls Java is not accepted", _CODE_HINT)
    if _PATH_TABLE.search(text) or _QUOTE_AND_COMMENT.search(text):
        yield Problem(where, "a path cannot be queried as a table", _CODE_HINT)


def _expand(text: str) -> str:
    """Replace the variables of a text, whose defaults may hold a path; errors are reported later."""
    try:
        return expand(text, os.environ)
    except OptionError:
        return text


def _parse(document: str, file: str) -> Any:
    """Return the document as plain data; syntax errors are reported by the check of the document."""
    try:
        return YAML(typ="safe").load(document)
    except NOT_YAML as error:
        raise DocumentError([Problem(file, f"not a YAML document: {error}")]) from None


def _texts(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield every text of a document with its path and key; keys are texts as well."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield path, str(key), str(key)
            yield from _texts(inner, (*path, str(key)))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _texts(inner, (*path, str(number)))
    elif isinstance(value, str):
        yield path[:-1], path[-1] if path else "", value


def _is_inside(path: str, directory: Path | None) -> bool:
    if directory is None or path.strip().startswith("~"):
        return False
    return Path(path.strip().removeprefix("file:")).resolve().is_relative_to(directory.resolve())


def memory_bytes(size: str, *, where: str = "memory") -> int:
    """Return the number of bytes of a size such as `2g`."""
    units = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
    number = re.fullmatch(r"(\d+)([kmgt])b?", size.strip().lower())
    if number is None:
        raise OptionError(f"expected a size such as 512m or 2g, got {size!r}", where=where)
    return int(number[1]) * units[number[2]]
