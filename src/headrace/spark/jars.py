"""Jars from Maven Central, pinned by SHA-256 and downloaded once.

`jars.toml` beside this module is the lock file: named sets of jars (`kafka`) with coordinates, sizes and
checksums. A set is downloaded into the cache on first use; partial downloads are resumed and checksums are
verified. `HEADRACE_MAVEN_MIRROR` replaces Maven Central.

    headrace jars fetch kafka                                                    # before going offline
    python -m headrace.spark.jars pin org.apache.commons:commons-pool2:2.12.0    # prints a line of the lock
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol
from urllib.request import Request

from headrace.errors import HeadraceError, OptionError, SetupError, did_you_mean
from headrace.spark.cache import cache_directory
from headrace.spark.download import Download, Watcher, download, open_url, silent
from headrace.spark.kernel_jar import find_spark_home
from headrace.spark.versions import Feature

MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
LOCK = Path(__file__).with_name("jars.toml")


@dataclass(frozen=True)
class Jar:
    """A jar of the lock file.

    >>> Jar("org.apache.commons:commons-pool2:2.12.0", sha256="6d3b", size=150048).path
    'org/apache/commons/commons-pool2/2.12.0/commons-pool2-2.12.0.jar'
    """

    maven: str
    sha256: str
    size: int

    @property
    def path(self) -> str:
        """Return the path of the jar in a Maven repository and in the cache."""
        group, artifact, version = self.maven.partition("@")[0].split(":")[:3]
        return f"{group.replace('.', '/')}/{artifact}/{version}/{self.name}"

    @property
    def name(self) -> str:
        """Return the name of the file; coordinates may end with classifier and type, `:all@tar.gz`."""
        coordinates, _, suffix = self.maven.partition("@")
        return f"{'-'.join(coordinates.split(':')[1:])}.{suffix or 'jar'}"


@dataclass(frozen=True)
class JarSet:
    """Jars that are used together, such as those of Spark's Kafka connector."""

    name: str
    about: str
    jars: tuple[Jar, ...]
    spark: str = ""
    """The version of Spark that it needs; empty for any."""
    unless: str = ""
    """A pattern of jars of Spark that make it superfluous."""

    @property
    def is_needed(self) -> bool:
        """False if Spark has jars of its own, as on some clusters."""
        return not self.unless or not any((find_spark_home() / "jars").glob(self.unless))

    @property
    def size(self) -> int:
        return sum(jar.size for jar in self.jars)

    def paths(self) -> tuple[Path, ...]:
        """Return the paths of the jars in the cache; the files may not exist."""
        return tuple(_cache_path(jar) for jar in self.jars)

    def missing(self) -> tuple[Jar, ...]:
        """Return the jars that have not been downloaded."""
        return tuple(jar for jar in self.jars if not _is_cached(jar))


@cache
def jar_sets(lock: Path = LOCK) -> Mapping[str, JarSet]:
    """Return all sets of the lock file by name.

    >>> sorted(jar_sets())
    ['kafka', 'kafka-broker', 's3']
    """
    tables = tomllib.loads(lock.read_text())
    return {
        name: JarSet(**{**table, "name": name, "jars": tuple(Jar(**jar) for jar in table["jars"])})
        for name, table in tables.items()
    }


def jar_set(name: str, lock: Path = LOCK) -> JarSet:
    """Return a set of the lock file.

    Raises:
        OptionError: unknown name.
    """
    known = jar_sets(lock)
    if name not in known:
        raise OptionError(f"unknown jar set {name!r}", where="jars", hint=did_you_mean(name, known))
    return known[name]


def fetch(
    name: str, *, mirror: str | None = None, watch: Watcher = silent, lock: Path = LOCK
) -> tuple[Path, ...]:
    """Download the missing jars of a set and return the paths of all its jars.

    Args:
        name: the set, such as `kafka`.
        mirror: URL of a Maven repository; default: `HEADRACE_MAVEN_MIRROR`, then Maven Central.
        watch: called with the progress of each download; `headrace.spark.download_progress` shows it as bars.
        lock: the lock file.

    Raises:
        OptionError: unknown set.
        SetupError: a download failed, or its checksum differs from the lock file.
    """
    chosen = jar_set(name, lock)
    repository = _repository(mirror)
    for jar in chosen.missing():
        wanted = Download(f"{repository}/{jar.path}", _cache_path(jar), jar.sha256, jar.size)
        try:
            download(wanted, watch)
        except OSError as error:
            raise SetupError(
                f"{jar.name} cannot be downloaded from {repository}: {error}",
                where=f"jars {name}",
                hint="retry (the download resumes), or set HEADRACE_MAVEN_MIRROR to a reachable repository",
            ) from error
    return chosen.paths()


class NeedsJars(Protocol):
    """A connector that depends on jars."""

    @property
    def jars(self) -> Sequence[str]:
        """The names of jar sets in the lock file."""
        ...


def jars_for(connectors: Iterable[NeedsJars]) -> tuple[Path, ...]:
    """Return the jars that Spark needs for these connectors; download missing ones.

    Raises:
        SetupError: a download failed, or the jars do not fit the installed Spark.
    """
    required = dict.fromkeys(name for connector in connectors for name in connector.jars)
    names = [name for name in required if jar_set(name).is_needed]
    if not names:
        return ()
    for name in names:
        if since := jar_set(name).spark:
            Feature(f"the set of jars `{name}`", since).require("jars")
    from headrace.spark.download_progress import progress

    with progress("jars") as watch:
        return tuple(path for name in names for path in fetch(name, watch=watch))


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m headrace.spark.jars pin`: print the line of the lock file for a jar."""
    parser = argparse.ArgumentParser(prog="python -m headrace.spark.jars", description=main.__doc__)
    pinning = parser.add_subparsers(required=True).add_parser(
        "pin", help="print the line of the lock file for a jar"
    )
    pinning.add_argument("coordinates", metavar="GROUP:ARTIFACT:VERSION")
    pinning.add_argument("--mirror", help="a Maven repository to use instead of Maven Central")
    chosen = parser.parse_args(arguments)
    try:
        line = _pin(chosen.coordinates, _repository(chosen.mirror))
    except HeadraceError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{line}\n")
    return 0


def _pin(coordinates: str, repository: str) -> str:
    if coordinates.count(":") not in (2, 3):
        raise OptionError(f"expected GROUP:ARTIFACT:VERSION, got {coordinates!r}", where="jars pin")
    address = f"{repository}/{Jar(coordinates, '', 0).path}"
    try:
        with open_url(Request(address)) as response:
            content = response.read()
    except OSError as error:
        raise SetupError(f"{address} cannot be read: {error}", where="jars pin") from error
    sha256 = hashlib.sha256(content).hexdigest()
    return f'{{ maven = "{coordinates}", size = {len(content)}, sha256 = "{sha256}" }},'


def _repository(mirror: str | None) -> str:
    return (mirror or os.environ.get("HEADRACE_MAVEN_MIRROR") or MAVEN_CENTRAL).rstrip("/")


def _cache_path(jar: Jar) -> Path:
    return cache_directory() / "jars" / jar.path


def _is_cached(jar: Jar) -> bool:
    """Compare the size only: checksums are verified before a jar enters the cache."""
    try:
        return _cache_path(jar).stat().st_size == jar.size
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    raise SystemExit(main())
