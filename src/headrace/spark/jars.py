"""Jars from Maven Central, pinned by SHA-256 and downloaded once.

`jars.toml` beside this module is the lock: named sets of jars (`kafka`), each with its coordinates, size and
checksum. A set is downloaded into the cache when it is first needed; a broken download goes on where it
stopped, and nothing enters the cache whose checksum differs. `HEADRACE_MAVEN_MIRROR` names another repository
than Maven Central.

    headrace jars fetch kafka                                                     # before going offline
    python -m headrace.spark.jars pin org.apache.commons:commons-pool2:2.12.0    # a line for the lock
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
from headrace.spark.download import Download, Watcher, download, opened, silent

MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
LOCK = Path(__file__).with_name("jars.toml")


@dataclass(frozen=True)
class Jar:
    """One jar of the lock.

    >>> Jar("org.apache.commons:commons-pool2:2.12.0", sha256="6d3b", size=150048).path
    'org/apache/commons/commons-pool2/2.12.0/commons-pool2-2.12.0.jar'
    """

    maven: str
    sha256: str
    size: int

    @property
    def path(self) -> str:
        """Return the path of the jar in a Maven repository and in the cache."""
        group, artifact, version = self.maven.split(":")
        return f"{group.replace('.', '/')}/{artifact}/{version}/{self.name}"

    @property
    def name(self) -> str:
        _, artifact, version = self.maven.split(":")
        return f"{artifact}-{version}.jar"


@dataclass(frozen=True)
class JarSet:
    """Jars that are used together, such as all that Spark needs to read Kafka."""

    name: str
    about: str
    jars: tuple[Jar, ...]

    @property
    def size(self) -> int:
        return sum(jar.size for jar in self.jars)

    def paths(self) -> tuple[Path, ...]:
        """Return the paths of its jars in the cache, present or not."""
        return tuple(_find_cached(jar) for jar in self.jars)

    def missing(self) -> tuple[Jar, ...]:
        """Return the jars that are still to be downloaded."""
        return tuple(jar for jar in self.jars if not _complete(jar))


@cache
def jar_sets(lock: Path = LOCK) -> Mapping[str, JarSet]:
    """Return all sets of the lock by name.

    >>> sorted(jar_sets())
    ['kafka', 'kafka-broker']
    """
    tables = tomllib.loads(lock.read_text())
    return {
        name: JarSet(name, table["about"], tuple(Jar(**jar) for jar in table["jars"]))
        for name, table in tables.items()
    }


def jar_set(name: str, lock: Path = LOCK) -> JarSet:
    """Return one set of the lock.

    Raises:
        OptionError: There is no set of that name.
    """
    known = jar_sets(lock)
    if name not in known:
        raise OptionError(f"unknown set of jars {name!r}", where="jars", hint=did_you_mean(name, known))
    return known[name]


def fetch(
    name: str, *, mirror: str | None = None, watch: Watcher = silent, lock: Path = LOCK
) -> tuple[Path, ...]:
    """Return the jars of a set, downloaded where the cache lacks them.

    Args:
        name: The set, such as `kafka`.
        mirror: A Maven repository's address; `HEADRACE_MAVEN_MIRROR`, then Maven Central by default.
        watch: Gets each download and how far it is; `headrace.spark.startup` draws it as bars.
        lock: Another lock than Headrace's own, such as the benchmarks'.

    Raises:
        OptionError: There is no such set.
        SetupError: A jar can't be had, or isn't the one of the lock.
    """
    chosen = jar_set(name, lock)
    repository = _repository(mirror)
    for jar in chosen.missing():
        wanted = Download(f"{repository}/{jar.path}", _find_cached(jar), jar.sha256, jar.size)
        try:
            download(wanted, watch)
        except OSError as error:
            raise SetupError(
                f"{jar.name} can't be downloaded from {repository}: {error}",
                where=f"jars {name}",
                hint="try again (it goes on where it stopped), or set HEADRACE_MAVEN_MIRROR to a repository"
                " you can reach",
            ) from error
    return chosen.paths()


class NeedsJars(Protocol):
    """A connector, as far as its jars are concerned."""

    @property
    def jars(self) -> Sequence[str]:
        """The names of the jar sets in the lock."""
        ...


def jars_for(connectors: Iterable[NeedsJars]) -> tuple[Path, ...]:
    """Return the jars that Spark needs for these connectors; download those that the cache lacks."""
    names = dict.fromkeys(name for connector in connectors for name in connector.jars)
    if not names:
        return ()
    from headrace.spark.startup import progress

    with progress("jars") as watch:
        return tuple(path for name in names for path in fetch(name, watch=watch))


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m headrace.spark.jars pin`: print the line of the lock for a jar."""
    parser = argparse.ArgumentParser(prog="python -m headrace.spark.jars", description=main.__doc__)
    pinning = parser.add_subparsers(required=True).add_parser(
        "pin", help="print the line of the lock for a jar"
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
    if coordinates.count(":") != 2:
        raise OptionError(f"expected GROUP:ARTIFACT:VERSION, got {coordinates!r}", where="jars pin")
    address = f"{repository}/{Jar(coordinates, '', 0).path}"
    try:
        with opened(Request(address)) as response:
            content = response.read()
    except OSError as error:
        raise SetupError(f"{address} can't be read: {error}", where="jars pin") from error
    sha256 = hashlib.sha256(content).hexdigest()
    return f'{{ maven = "{coordinates}", size = {len(content)}, sha256 = "{sha256}" }},'


def _repository(mirror: str | None) -> str:
    return (mirror or os.environ.get("HEADRACE_MAVEN_MIRROR") or MAVEN_CENTRAL).rstrip("/")


def _find_cached(jar: Jar) -> Path:
    return cache_directory() / "jars" / jar.path


def _complete(jar: Jar) -> bool:
    """By size: a jar enters the cache only after its checksum was right, so this finds truncation."""
    try:
        return _find_cached(jar).stat().st_size == jar.size
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    raise SystemExit(main())
