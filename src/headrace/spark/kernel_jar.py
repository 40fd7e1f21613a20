"""Compile the Scala sources of the kernel into a jar for each minor version of Spark.

Uses the Scala compiler in Spark's jars, so that only a Java runtime is required. The jar contains a digest of
its inputs (sources, compiler options, Spark version) and is compiled again when the digest changes. Called by
the build hook of the wheel, by `make kernel` (`python -m headrace.spark.kernel_jar`) and, in a source
checkout, by `open_session`. Imports only the standard library, because the build hook runs before
dependencies are installed.

A wheel has one jar for each version in `SUPPORTED`, and a session uses that of the installed Spark. Sources
for some versions only are in folders beside `scala`: `scala-4.1` for 4.1, `scala-4.2+` for 4.2 and later.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.errors import SetupError
from headrace.spark.cache import locked, replace_atomically
from headrace.spark.java import find_java

PACKAGE = Path(__file__).resolve().parents[1]
JARS = PACKAGE / "jars"
SUPPORTED = ("4.1", "4.2", "4.3")
"""The minor versions of Spark that the kernel compiles for."""
SPARKS = "HEADRACE_BUILD_SPARKS"
"""The variable with directories of other pyspark packages that a wheel gets a jar for, joined with `:`."""
PROPERTIES = "META-INF/headrace-kernel.properties"
OPTIONS = ("-deprecation", "-feature", "-unchecked", "-Wunused:imports,locals,privates", "-encoding", "utf8")

_FOLDER = re.compile(r"scala-(\d+)\.(\d+)(\+?)")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a constant timestamp, so that builds are reproducible


@dataclass(frozen=True)
class KernelSources:
    """The Scala and Java sources of the kernel, and the Spark that they are compiled against."""

    root: Path
    spark_home: Path

    @property
    def files(self) -> tuple[Path, ...]:
        files = (file for file in self.root.rglob("*") if file.suffix in (".scala", ".java"))
        return tuple(sorted(file for file in files if self._applies(file)))

    @property
    def spark_version(self) -> str:
        return spark_version(self.spark_home)

    def _applies(self, file: Path) -> bool:
        """Return False for a file in the folder of another Spark version."""
        folder = _FOLDER.fullmatch(file.relative_to(self.root).parts[0])
        if folder is None:
            return True
        version, wanted = _numbers(self.spark_version), (int(folder[1]), int(folder[2]))
        return version == wanted or (folder[3] == "+" and version > wanted)

    @property
    def digest(self) -> str:
        """Return a digest of everything that the jar depends on."""
        sha = hashlib.sha256(f"{self.spark_version} {' '.join(OPTIONS)}\n".encode())
        for file in self.files:
            sha.update(f"{file.relative_to(self.root).as_posix()}\0".encode())
            sha.update(hashlib.sha256(file.read_bytes()).digest())
        return sha.hexdigest()[:32]


def checkout_sources() -> KernelSources | None:
    """Return the kernel sources if the package runs from a source checkout, otherwise None."""
    root = PACKAGE.parents[1] / "kernel" / "src" / "main"
    return KernelSources(root, find_spark_home()) if root.is_dir() else None


def find_spark_home() -> Path:
    """Return the directory of the installed pyspark, found without importing it.

    Raises:
        SetupError: pyspark is missing.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SetupError("pyspark is not installed", where="spark", hint="pip install headrace")
    package = Path(spec.origin).parent
    # Under spark-submit pyspark is imported from a zip file without jars; these are in SPARK_HOME.
    submitted = os.environ.get("SPARK_HOME")
    return Path(submitted) if submitted and not (package / "jars").is_dir() else package


def spark_version(spark_home: Path) -> str:
    """Return the Spark version of a directory, from the name of the spark-core jar."""
    for jar in (spark_home / "jars").glob("spark-core_2.13-*.jar"):
        return jar.stem.removeprefix("spark-core_2.13-")
    raise SetupError(
        f"{spark_home}/jars has no spark-core_2.13 jar",
        where="spark",
        hint="pip install --force-reinstall pyspark (not pyspark-client)",
    )


def minor_version(version: str) -> str:
    """Return the version without its last number.

    >>> minor_version("4.3.0")
    '4.3'
    """
    return ".".join(map(str, _numbers(version)))


def _numbers(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def jar_path(version: str) -> Path:
    """Return the path of the kernel jar for a Spark version; the file may not exist."""
    return JARS / f"headrace-kernel-{minor_version(version)}.jar"


def installed_jar() -> Path:
    """Return the path of the kernel jar for the installed Spark; the file may not exist.

    Raises:
        SetupError: pyspark is missing, or its version is not supported.
    """
    version = spark_version(find_spark_home())
    if minor_version(version) not in SUPPORTED:
        raise SetupError(
            f"Spark {version} is not supported, but {', '.join(SUPPORTED[:-1])} and {SUPPORTED[-1]} are",
            where="spark",
            hint=f"pip install 'pyspark~={SUPPORTED[-1]}.0'",
        )
    return jar_path(version)


def __getattr__(name: str) -> Path:
    """Return the path of the jar for the installed Spark as `JAR`, for scripts."""
    if name == "JAR":
        return installed_jar()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def read_properties(jar: Path) -> dict[str, str]:
    """Return the build properties of a jar (`digest`, `spark`); empty if there is no jar."""
    try:
        with zipfile.ZipFile(jar) as archive:
            text = archive.read(PROPERTIES).decode()
    except (OSError, KeyError, zipfile.BadZipFile):
        return {}
    return dict(line.split("=", 1) for line in text.splitlines())


def ensure_kernel_jar(report: Callable[[str], None], *, force: bool = False, strict: bool = False) -> Path:
    """Return the path of the kernel jar; in a source checkout, compile it first if it is out of date.

    Args:
        report: receives a line before and after a compilation, and the warnings of the compiler.
        force: compile even if nothing changed.
        strict: fail on warnings.

    Raises:
        SetupError: the jar is missing and there are no sources, or the sources do not compile.
    """
    jar, sources = installed_jar(), checkout_sources()
    if sources is not None:
        return build(sources, jar, report, force=force, strict=strict)
    if not jar.is_file():
        raise SetupError(
            f"the kernel is missing: {jar}", where="kernel", hint="pip install --force-reinstall headrace"
        )
    return jar


def ensure_jars_of_wheel(report: Callable[[str], None]) -> tuple[Path, ...]:
    """Compile the jar for the installed Spark and those that `HEADRACE_BUILD_SPARKS` lists.

    Raises:
        SetupError: a directory has no Spark, or the sources do not compile.
    """
    jars = [ensure_kernel_jar(report)]
    others = filter(None, os.environ.get(SPARKS, "").split(os.pathsep))
    if sources := checkout_sources():
        for home in map(Path, others):
            jars.append(build(replace(sources, spark_home=home), jar_path(spark_version(home)), report))
    return tuple(dict.fromkeys(jars))


def build(
    sources: KernelSources,
    jar: Path,
    report: Callable[[str], None],
    *,
    force: bool = False,
    strict: bool = False,
) -> Path:
    """Compile `sources` into `jar`, unless its digest is up to date."""
    digest = sources.digest
    if not force and read_properties(jar).get("digest") == digest:
        return jar
    with locked(jar):  # another process may have compiled it while this one waited
        if force or read_properties(jar).get("digest") != digest:
            _build(sources, jar, digest, report, strict)
    return jar


def _build(
    sources: KernelSources, jar: Path, digest: str, report: Callable[[str], None], strict: bool
) -> None:
    started = time.monotonic()
    report(f"kernel: compiling {len(sources.files)} Scala files for Spark {sources.spark_version}")
    with tempfile.TemporaryDirectory(prefix="headrace-kernel-") as scratch:
        if warnings := _compile(sources, Path(scratch), strict):
            report(warnings)
        properties = f"digest={digest}\nspark={sources.spark_version}\n"
        replace_atomically(jar, _pack(Path(scratch), properties))
    report(f"kernel: compiled {jar.name} in {time.monotonic() - started:.1f} s")


def _compile(sources: KernelSources, target: Path, strict: bool) -> str:
    java = find_java()
    classpath = str(sources.spark_home / "jars" / "*")
    arguments = [*OPTIONS, *(["-Werror"] if strict else []), "-usejavacp", "-d", str(target)]
    listing = target.with_suffix(".files")
    listing.write_text("\n".join(f'"{file}"' for file in sources.files))
    command = [str(java.executable), "-Xss4m", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command += ["-cp", classpath, "scala.tools.nsc.Main", *arguments, f"@{listing}"]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    finally:
        listing.unlink()
    if done.returncode != 0:
        raise SetupError(
            f"the kernel does not compile\n{done.stdout.strip()}",
            where="kernel",
            hint="fix the errors, then run `make kernel`",
        )
    return "\n".join(line for line in done.stdout.splitlines() if not line.startswith("WARNING: ")).strip()


def _pack(classes: Path, properties: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        entries = [(file.relative_to(classes).as_posix(), file) for file in sorted(classes.rglob("*.class"))]
        archive.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF", _EPOCH), "Manifest-Version: 1.0\r\n\r\n")
        archive.writestr(zipfile.ZipInfo(PROPERTIES, _EPOCH), properties)
        for name, file in entries:
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, file.read_bytes())
    return buffer.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m headrace.spark.kernel_jar`: compile the kernel if its jar is missing or out of date."""
    parser = argparse.ArgumentParser(prog="python -m headrace.spark.kernel_jar", description=main.__doc__)
    parser.add_argument("--force", action="store_true", help="compile even if nothing changed")
    parser.add_argument(
        "--strict", action="store_true", help="fail on the compiler's warnings (implies --force)"
    )
    chosen = parser.parse_args(arguments)
    try:
        jar = ensure_kernel_jar(_to_stderr, force=chosen.force or chosen.strict, strict=chosen.strict)
    except SetupError as error:
        _to_stderr(str(error))
        return 1
    _to_stderr(f"kernel: {jar} is up to date")
    return 0


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    raise SystemExit(main())
