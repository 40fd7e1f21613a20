"""The class archive: classes of Spark and the kernel as Java has loaded and verified them before.

A JVM that starts with an archive maps these classes instead of reading and verifying those of the jars (class
data sharing). Java checks that the archive fits: the same build of Java, and the same jars at the beginning
of the class path. Otherwise it starts without it. A pipeline of one row took 13 s with and 20 s without it;
with the quick compiler alone, as in tests, half the CPU time.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from headrace.spark.cache import cache_directory
from headrace.spark.java import Java
from headrace.spark.kernel_jar import JAR

RECORD = "-XX:ArchiveClassesAtExit="
"""The Java option that writes an archive when the JVM ends."""
KEPT = 3


def archive_path(java: Java, spark_home: Path) -> Path:
    """Return the file of the archive for this Java, Spark and kernel; it may not exist."""
    jars = [JAR, *sorted((spark_home / "jars").glob("*.jar"))]
    parts = [str(java.home), *map(_identity, [java.executable, *jars])]
    return _directory() / f"{hashlib.sha256(' '.join(map(str, parts)).encode()).hexdigest()[:16]}.jsa"


def archive_options(java: Java, spark_home: Path) -> str:
    """Return the Java options to start with the archive; none if there is no archive."""
    archive = archive_path(java, spark_home)
    return f'-XX:SharedArchiveFile="{archive}" -Xshare:auto -Xlog:cds*=off' if archive.exists() else ""


def store_archive(draft: Path, archive: Path) -> None:
    """Move a complete archive to its place, and delete those of former versions."""
    draft.replace(archive)
    for old in sorted(_directory().glob("*.jsa"), key=lambda file: file.stat().st_mtime)[:-KEPT]:
        old.unlink(missing_ok=True)


def _directory() -> Path:
    return cache_directory() / "classes"


def _identity(file: Path) -> str:
    stat = file.stat() if file.exists() else None
    return f"{file} {stat.st_size} {stat.st_mtime_ns}" if stat else f"{file} -"
