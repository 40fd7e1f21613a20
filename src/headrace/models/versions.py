"""The versions of a model in a file: selected on the driver for each epoch, and read by the workers."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace.checkpoints.epoch_versions import EpochVersions
from headrace.errors import HeadraceError, LoadError
from headrace.sealed_files import read_current, read_version

_log = logging.getLogger("headrace")
_SUFFIX = ".model"


@dataclass(frozen=True)
class StoredVersions:
    """The versions in a checkpoint, as a worker reads them."""

    directory: str

    def current(self) -> str:
        """Return the version of the current epoch."""
        return read_current(Path(self.directory))[0]

    def read(self, version: str) -> bytes:
        """Return the content of a version."""
        return read_version(Path(self.directory), f"{version}{_SUFFIX}")


@dataclass(frozen=True)
class FixedVersion:
    """A file that is read where it is, without a checkpoint."""

    path: str
    version: str

    def current(self) -> str:
        """Return the version."""
        return self.version

    def read(self, version: str) -> bytes:
        """Return the content of the file."""
        return Path(self.path).read_bytes()


def find_file(path: str, suffixes: Sequence[str]) -> Path:
    """Return the file of a model, or the newest version in a directory: the last one in natural order.

    Raises:
        LoadError: there is no file.
    """
    place = Path(path)
    if not place.is_dir():
        if not place.exists():
            raise LoadError("there is no model", where=path, hint="train it first, or correct the path")
        return place
    files = [file for file in place.iterdir() if file.suffix in suffixes and not file.name.startswith(".")]
    if not files:
        what = f"there is no model {' or '.join(f'*{suffix}' for suffix in suffixes)}"
        raise LoadError(what, where=path, hint=f"add a version, such as v1{suffixes[0]}")
    return max(files, key=lambda file: natural_order(file.name))


def natural_order(name: str) -> list[tuple[int, str]]:
    """Return the key by which numbers in names are compared as numbers.

    >>> sorted(["v10", "v9", "v9b"], key=natural_order)
    ['v9', 'v9b', 'v10']
    """
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.findall(r"\d+|\D+", name)]


def version_of(file: Path, content: bytes) -> str:
    """Return the version of a model: the name of its file and the start of its checksum.

    >>> version_of(Path("models/v2.onnx"), b"")
    'v2-e3b0c442'
    """
    return f"{file.stem}-{hashlib.sha256(content).hexdigest()[:8]}"


class ModelVersions:
    """Selects the version of a model that each epoch uses, and stores it in the checkpoint.

    A version that cannot be loaded is not used: the last one is, with a warning.

    Args:
        step: the step.
        path: the file or directory of the model.
        suffixes: the suffixes of versions in a directory.
        directory: the directory of the versions in the checkpoint.
        load: loads a model.
    """

    def __init__(
        self,
        step: str,
        path: str,
        suffixes: Sequence[str],
        directory: Path,
        load: Callable[[bytes], object],
    ) -> None:
        self._step, self._path, self._suffixes, self._load = step, path, suffixes, load
        self._versions = EpochVersions(directory, _SUFFIX)
        self._state: object = None
        """The file that was read last, with its size and time."""
        self._problem = ""
        if self._versions.latest is None:
            load(find_file(path, suffixes).read_bytes())

    @property
    def stored(self) -> StoredVersions:
        """The versions as workers read them."""
        return StoredVersions(str(self._versions.directory))

    def enter(self, epoch: int) -> None:
        """Activate the version of an epoch: the recorded one in a replay, otherwise the newest."""
        self._versions.enter(epoch, self._choose)

    def _choose(self, version: str | None) -> str:
        try:
            file = find_file(self._path, self._suffixes)
            status = file.stat()
            state = (file, status.st_ino, status.st_size, status.st_mtime_ns)
            if version is None or state != self._state:
                self._state = state
                version = self._take(file, version)
            self._problem = ""
        except Exception as error:
            if version is None:
                raise
            problem = error.what if isinstance(error, HeadraceError) else f"{type(error).__name__}: {error}"
            if problem != self._problem:
                text = "`%s`: the model at %s cannot be loaded, version %s is used: %s"
                _log.warning(text, self._step, self._path, version, problem)
            self._problem = problem
        return version

    def _take(self, file: Path, version: str | None) -> str:
        """Store the content of a file as a version, if it is another one and can be loaded."""
        content = file.read_bytes()
        newest = version_of(file, content)
        if newest != version:
            self._load(content)
            self._versions.store(newest, content)
        return newest
