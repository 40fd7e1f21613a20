"""The file `pipeline` of a checkpoint directory: the name of the pipeline and the version of the layout."""

from __future__ import annotations

from pathlib import Path

from headrace.checkpoints.layout import list_checkpoints
from headrace.connectors.durable_files import read_json, write_json
from headrace.errors import OptionError
from headrace.sealed_files import is_sealed

LAYOUT = 3
"""Version 0.1 wrote layout 1 and version 0.2 layout 2; both wrote the name of the pipeline alone."""

_FILE = "pipeline"
_DRAINED = "drained"
_SEALED_NAME = Path("checkpoint") / _FILE
"""The checkpoint directory can be renamed."""


def read_owner(directory: Path) -> str:
    """Return the name of the pipeline that a checkpoint directory belongs to; empty if it has none.

    Raises:
        DamagedFileError: the file is damaged.
    """
    if is_of_0_2(directory) or upgrading_path(directory).exists():
        return (directory / _FILE).read_text()
    name: str = read_json(directory / _FILE, {"name": ""}, name=_SEALED_NAME)["name"]
    return name


def read_session(directory: Path) -> str:
    """Return the session that a temporary checkpoint belongs to; empty if a checkpoint is not temporary.

    Raises:
        DamagedFileError: the file is damaged.
    """
    if is_of_0_2(directory) or upgrading_path(directory).exists():
        return ""
    return str(read_json(directory / _FILE, {}, name=_SEALED_NAME).get("session", ""))


def write_owner(directory: Path, pipeline: str, *, drained: bool = False, session: str = "") -> None:
    """Record the pipeline that a checkpoint directory belongs to, and the version of the layout."""
    record = {"name": pipeline, "layout": LAYOUT, "drained": drained}
    write_json(directory / _FILE, record | ({"session": session} if session else {}), name=_SEALED_NAME)


def mark_drained(directory: Path) -> None:
    """Record that the pipeline was drained: in the owner, because the file could be lost, and as a file."""
    write_owner(directory, read_owner(directory), drained=True, session=read_session(directory))
    (directory / _DRAINED).touch()


def is_drained(directory: Path) -> bool:
    """Return True if the pipeline was drained, so that no run can start."""
    if (directory / _DRAINED).exists():
        return True
    if is_of_0_2(directory) or upgrading_path(directory).exists():
        return False
    return bool(read_json(directory / _FILE, {}, name=_SEALED_NAME).get("drained"))


def is_of_0_2(directory: Path) -> bool:
    """True if version 0.2 has written a checkpoint: neither its owner nor its offsets are sealed."""
    if not (directory / _FILE).exists() or is_sealed((directory / _FILE).read_bytes()):
        return False
    return not any(is_sealed(file.read_bytes()) for file in directory.glob("queries/*/spark/metadata"))


def require_layout(directory: Path) -> None:
    """Reject a checkpoint directory whose files have no checksums.

    Raises:
        OptionError: version 0.2 has written it, or its upgrade was interrupted.
    """
    upgrade = f"headrace checkpoint upgrade {directory}"
    if upgrading_path(directory).exists():
        what = "the upgrade of the checkpoint was interrupted"
        raise OptionError(what, where=str(directory), hint=f"repeat {upgrade}")
    if is_of_0_2(directory) and list_checkpoints(directory):
        what = "the checkpoint was written by headrace 0.2, whose files have no checksums"
        hint = f"upgrade it with {upgrade}, or start over with --fresh"
        raise OptionError(what, where=str(directory), hint=hint)


def upgrading_path(directory: Path) -> Path:
    """Return the file that exists while the files of a checkpoint directory are being sealed."""
    return directory / "upgrading"
