"""Versions of a file that the tasks of a query read: one version per epoch, recorded for replays.

    <directory>/journal.jsonl       the version that each epoch uses
                current             the active version, read by the tasks, and its epoch
                <version>.<suffix>  the content of a version

The driver selects and records the version of an epoch before its tasks start, so that a replayed epoch reads
the same content. The journal is durable before `current` is written, so a journal that has no version of the
epoch in `current` has lost lines, and a replay would use another version.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from headrace.checkpoints.journal import append_line, read_lines
from headrace.connectors.durable_files import write_durably
from headrace.errors import DamagedFileError
from headrace.sealed_files import CURRENT, RESTORE, read_current, seal
from headrace.spark.cache import replace_atomically

JOURNAL = "journal.jsonl"


def read_versions(directory: Path) -> dict[int, str]:
    """Return the version that each epoch uses.

    Raises:
        DamagedFileError: the journal or `current` is damaged, or the journal has lost lines.
    """
    journal = directory / JOURNAL
    versions = {int(line["epoch"]): str(line["version"]) for line in read_lines(journal)}
    if (directory / CURRENT).exists():
        _, epoch = read_current(directory)
        if epoch is not None and epoch not in versions:
            state = "its last lines are" if journal.exists() else "the file is"
            what = f"{state} missing: the version that epoch {epoch} has used"
            raise DamagedFileError(what, where=str(journal), hint=RESTORE)
    return versions


class EpochVersions:
    """The versions in one directory.

    Args:
        directory: the directory; it is created with the first version.
        suffix: the suffix of the files with the content of versions, such as `.arrow`.
    """

    def __init__(self, directory: Path, suffix: str) -> None:
        self.directory, self._suffix = directory.absolute(), suffix
        self._epochs = read_versions(self.directory)

    @property
    def latest(self) -> str | None:
        """The version of the last epoch; None before the first one."""
        return self._epochs[max(self._epochs)] if self._epochs else None

    def enter(self, epoch: int, choose: Callable[[str | None], str]) -> None:
        """Activate the version of an epoch: the recorded one in a replay, otherwise a new choice.

        Args:
            epoch: the epoch, whose tasks have not started.
            choose: returns a stored version; its argument is the version of the epoch before, if any.
        """
        if epoch not in self._epochs:
            earlier = [number for number in self._epochs if number < epoch]
            self._epochs[epoch] = choose(self._epochs[max(earlier)] if earlier else None)
            line = {"epoch": epoch, "version": self._epochs[epoch]}
            append_line(self.directory / JOURNAL, line, sync=True)
        self._activate(self._epochs[epoch], epoch)
        self._remove_old(epoch)

    def store(self, version: str, content: bytes) -> None:
        """Store the content of a version durably."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / f"{version}{self._suffix}"
        write_durably(path, seal(content, path))

    def next_number(self) -> int:
        """Return a number that no stored version has, if versions are numbers."""
        return 1 + max((int(path.stem) for path in self._stored()), default=-1)

    def _stored(self) -> list[Path]:
        return list(self.directory.glob(f"*{self._suffix}"))

    def _activate(self, version: str, epoch: int) -> None:
        path = self.directory / CURRENT
        replace_atomically(path, seal(f"{version}\n{epoch}".encode(), path))

    def _remove_old(self, epoch: int) -> None:
        """Remove versions of epochs before the last one, which Spark never replays."""
        self._epochs = {number: version for number, version in self._epochs.items() if number >= epoch - 1}
        for path in self._stored():
            if path.name.removesuffix(self._suffix) not in self._epochs.values():
                path.unlink(missing_ok=True)
