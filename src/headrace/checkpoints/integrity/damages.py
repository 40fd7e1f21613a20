"""Damages of files in a checkpoint directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headrace.errors import DamagedFileError
from headrace.sealed_files import RESTORE


@dataclass(frozen=True)
class Damage:
    """A file that is damaged or missing."""

    file: Path
    what: str
    lost: str = ""
    """What cannot be read any more, or would be wrong."""
    hint: str = RESTORE

    @classmethod
    def of(cls, error: DamagedFileError, lost: str = "") -> Damage:
        """Return the damage that an error reports."""
        return cls(Path(error.where), error.what, lost, error.hint)

    def error(self) -> DamagedFileError:
        """Return the damage as an error."""
        what = f"{self.what}: {self.lost}" if self.lost else self.what
        return DamagedFileError(what, where=str(self.file), hint=self.hint)


MISSING = "the file is missing"
