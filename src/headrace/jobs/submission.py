"""Submitted files: checks, and storage in the directory of the job."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from headrace import statements
from headrace.access import current, current_code
from headrace.errors import DocumentError, OptionError, Problem
from headrace.jobs.model import JobSettings
from headrace.streams.pipeline import Pipeline
from headrace.yaml.load import check_entries, loads_code

MAX_FILE_BYTES = 64 << 20
MAX_TOTAL_BYTES = 256 << 20
MAX_FILES = 200
_SQL = ".sql"
_SUFFIXES = (".py", ".yaml", ".yml", _SQL)
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. @=+-]*")


@dataclass(frozen=True)
class Submission:
    """A pipeline file, its data files and the settings of the job."""

    file: str
    """The name of the pipeline file."""
    files: Mapping[str, bytes]
    """The contents of all files by relative path, the pipeline file included."""
    name: str | None = None
    """The name of the job; default: the name of the pipeline."""
    owner: str = ""
    directory: str | None = None
    settings: JobSettings = field(default_factory=JobSettings)

    def check(self) -> str:
        """Check paths, sizes and the document; return the name of the pipeline.

        Python (a .py file, or functions of a document) is not loaded here, only by the driver.

        Raises:
            OptionError: a path or a size is not accepted.
            DocumentError: the document is invalid; every error has its line and column.
            PlanError: the plan is invalid.
        """
        check_files(self.files)
        if not self.file.endswith(_SUFFIXES):
            raise OptionError(f"expected a .py, .yaml or .sql file, got {self.file!r}", where="pipeline")
        if self.directory is not None and not Path(self.directory).is_dir():
            raise OptionError("no such directory", where=self.directory)
        if self.file.endswith(".py"):
            return Path(self.file).stem
        if self.is_code and current_code():
            if current() is not None:
                self._check_parts()
            return Path(self.file).stem
        pipeline = self.parse()
        if not pipeline._plan().sinks:
            hint = "add CREATE SINK and INSERT INTO" if self.is_sql else "add a sink under `sinks`"
            problem = Problem(self.file, "nothing is written", hint)
            raise DocumentError([problem])
        return pipeline.name

    def _check_parts(self) -> None:
        """Check what the file may use, without importing the Python that it names."""
        if self.is_sql:
            self.parse()
        else:
            check_entries(self.text, file=self.file)

    def parse(self) -> Pipeline:
        """Return the pipeline of the document, not validated yet."""
        if self.is_sql:
            return Pipeline.from_sql_text(self.text, file=self.file, name=Path(self.file).stem)
        return Pipeline.from_yaml_text(self.text, file=self.file, name=Path(self.file).stem)

    @property
    def is_code(self) -> bool:
        """True if the pipeline is a file in Python, or names functions in Python."""
        if self.is_sql:
            return statements.loads_code(self.text, file=self.file)
        return self.file.endswith(".py") or loads_code(self.text)

    @property
    def is_sql(self) -> bool:
        """True if the pipeline is a script of SQL statements."""
        return self.file.endswith(_SQL)

    @property
    def text(self) -> str:
        """The text of the pipeline file."""
        return self.files[self.file].decode("utf-8", errors="replace")

    @property
    def version(self) -> str:
        """A hash of all files."""
        digest = hashlib.sha256()
        for path, content in sorted(self.files.items()):
            digest.update(f"{path}\0{len(content)}\0".encode())
            digest.update(content)
        return digest.hexdigest()[:12]

    def store(self, directory: Path) -> None:
        """Write the files below a directory."""
        for path, content in self.files.items():
            target = directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def check_files(files: Mapping[str, bytes]) -> None:
    """Reject paths that leave the directory of the job, and uploads that are too large.

    Raises:
        OptionError: with the path and the reason.
    """
    if len(files) > MAX_FILES:
        raise OptionError(f"expected at most {MAX_FILES} files, got {len(files)}", where="upload")
    total = sum(map(len, files.values()))
    if total > MAX_TOTAL_BYTES:
        raise OptionError(
            f"expected at most {MAX_TOTAL_BYTES >> 20} MiB, got {total >> 20} MiB", where="upload"
        )
    for path, content in files.items():
        check_path(path)
        if len(content) > MAX_FILE_BYTES:
            what = f"expected at most {MAX_FILE_BYTES >> 20} MiB, got {len(content) >> 20} MiB"
            raise OptionError(what, where=path)


def check_path(path: str) -> None:
    """Reject a path that is absolute, has `..`, or has characters outside letters, digits and ` _.@=+-`.

    >>> check_path("events/first.jsonl")
    >>> check_path("../secret")
    Traceback (most recent call last):
    headrace.errors.OptionError: ../secret: expected a relative path below the directory of the job
      hint: letters, digits, space and _ . @ = + - are accepted; a part cannot begin with a dot
    """
    parts = PurePosixPath(path).parts
    if not parts or len(path) > 500 or not all(_PART.fullmatch(part) for part in parts):
        raise OptionError(
            "expected a relative path below the directory of the job",
            where=path[:100],
            hint="letters, digits, space and _ . @ = + - are accepted; a part cannot begin with a dot",
        )
