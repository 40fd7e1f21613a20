"""Paths in documents: the files of the service's machine, and object stores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from headrace.access import FILES_HINT, Access, current
from headrace.access.problems import reject

_STORE_SCHEMES = """
    abfs abfss adl cosn gs hdfs obs oss s3 s3a s3n swebhdfs wasb wasbs webhdfs
"""
STORES = frozenset(_STORE_SCHEMES.split())
"""Schemes of paths that are not on the service's machine."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_MOST_ALTERNATIVES = 64


def check_path(path: str) -> str:
    """Return a path, or reject it if it is a file of the service's machine.

    A relative path is below the directory of the job. Hadoop expands braces, so each alternative is checked.

    Raises:
        PydanticCustomError: a service restricts documents, and does not accept this path.
    """
    access = current()
    if access is not None:
        for each in expand_braces(path):
            _check(each, access)
    return path


def expand_braces(path: str) -> Iterator[str]:
    """Yield the alternatives of a glob with braces.

    >>> sorted(set(expand_braces("in/{a,b{1,2}}.csv")))
    ['in/a.csv', 'in/b1.csv', 'in/b2.csv']

    Raises:
        PydanticCustomError: there are more than 64.
    """
    waiting, number = [path], 0
    while waiting:
        text = waiting.pop()
        if (inner := re.search(r"\{([^{}]*)\}", text)) is None:
            yield text
            continue
        parts = inner[1].split(",")
        number += len(parts)
        if number > _MOST_ALTERNATIVES:
            raise reject("a glob with so many alternatives is not accepted", "write several sources")
        waiting += [f"{text[: inner.start()]}{part}{text[inner.end() :]}" for part in reversed(parts)]


def _check(path: str, access: Access) -> None:
    text = path.strip()
    scheme = _SCHEME.match(text)
    if scheme is not None and scheme[1].lower() in STORES:
        host = text[scheme.end() :].lstrip("/").partition("/")[0].rpartition("@")[2].partition(":")[0]
        if not access.accepts_host(host):
            raise reject(f"the host `{host}` is not accepted", f"start the service with --allow-host {host}")
        return
    local = text.removeprefix(scheme[0]) if scheme and scheme[1].lower() == "file" else text
    unknown = scheme is not None and local is text
    if unknown or not _is_accepted(local, is_url=local is not text, directory=access.files):
        raise reject("a path of the service's machine is not accepted", FILES_HINT)


def _is_accepted(path: str, *, is_url: bool, directory: str | None) -> bool:
    strange = "\\" in path or not path.isprintable() or (is_url and "%" in path)
    if strange or path.startswith("~") or ".." in path.split("/"):
        return False
    if not path.startswith("/"):
        return not is_url
    return directory is not None and Path(path).resolve().is_relative_to(Path(directory).resolve())
