"""Files of checkpoints, as a run writes them."""

from __future__ import annotations

from pathlib import Path

from headrace.sealed_files import RESTORE, seal, unseal

EMPTY = "v1\n{}\n"


def write_sealed(file: Path, text: str = EMPTY) -> None:
    """Write a sealed file, and its directory."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(seal(text.encode(), file))


def read_sealed_text(file: Path) -> str:
    """Return the content of a sealed file."""
    return unseal(file.read_bytes(), file, hint=RESTORE).decode()


def write_epochs(checkpoint: Path, *, started: int = 1, committed: int = 1) -> None:
    """Write the logs of a query that has started and committed some epochs."""
    write_sealed(checkpoint / "spark" / "metadata", "{}")
    for log, epochs in (("offsets", started), ("commits", committed)):
        for epoch in range(epochs):
            write_sealed(checkpoint / "spark" / log / str(epoch))
