"""The class archive (Java class data sharing) with the loaded and verified classes of Spark and the kernel.

A JVM maps the archive instead of reading and verifying classes from jars. Java uses it only if the Java build
and the first jars of the class path are the same. A pipeline of one row takes 13 s with and 20 s without it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from headrace.spark.cache import cache_directory
from headrace.spark.java import Java
from headrace.spark.kernel_jar import installed_jar

RECORD = "-XX:ArchiveClassesAtExit="
"""The Java option that writes an archive when the JVM exits."""
MAX_ARCHIVES = 3


def archive_path(java: Java, spark_home: Path) -> Path:
    """Return the path of the archive for this Java, Spark and kernel; the file may not exist."""
    jars = [installed_jar(), *sorted((spark_home / "jars").glob("*.jar"))]
    parts = [str(java.home), *map(_identity, [java.executable, *jars])]
    return _directory() / f"{hashlib.sha256(' '.join(map(str, parts)).encode()).hexdigest()[:16]}.jsa"


def archive_options(java: Java, spark_home: Path) -> str:
    """Return the Java options that load the archive; empty if there is no archive."""
    archive = archive_path(java, spark_home)
    return f'-XX:SharedArchiveFile="{archive}" -Xshare:auto -Xlog:cds*=off' if archive.exists() else ""


def store_archive(draft: Path, archive: Path) -> None:
    """Move a complete archive to its path and delete older archives."""
    draft.replace(archive)
    for old in sorted(_directory().glob("*.jsa"), key=lambda file: file.stat().st_mtime)[:-MAX_ARCHIVES]:
        old.unlink(missing_ok=True)


def _directory() -> Path:
    return cache_directory() / "classes"


def _identity(file: Path) -> str:
    stat = file.stat() if file.exists() else None
    return f"{file} {stat.st_size} {stat.st_mtime_ns}" if stat else f"{file} -"
