"""`headrace verify` and `headrace checkpoint`: checkpoint directories without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.options import AsJson
from headrace.cli.terminal.output import print_message, show_json, show_table

if TYPE_CHECKING:
    from headrace.checkpoints.integrity.damages import Damage
    from headrace.checkpoints.integrity.verification import Part

checkpoint = typer.Typer(help="Checkpoint directories: upgrade those of version 0.2.", no_args_is_help=True)

Directory = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="The checkpoint directory, such as .headrace/fraud, or a savepoint."),
]


def verify(directory: Directory, *, json: AsJson = False) -> None:
    """Verify a checkpoint directory: the checksums of all its files, and that none is missing.

    Reads only, without Spark. A running pipeline writes meanwhile, so stop it first, or repeat the command if
    it reports a missing file. Verifies offsets, commits, logs of sources, state, exchanges, side outputs,
    write-ahead logs, and the records beside them. Exits with 1 if a file is damaged; each damage has the
    file, what is lost, and what to do.

    For example:

    - `headrace verify .headrace/fraud`
    - `headrace verify .headrace/fraud.savepoints/before-v2 --json`
    """
    from headrace.checkpoints.integrity.verification import verify as verify_directory
    from headrace.checkpoints.layout import require_checkpoints
    from headrace.checkpoints.owner import require_layout

    require_checkpoints(directory)
    require_layout(directory)
    parts = verify_directory(directory)
    damages = [damage for part in parts for damage in part.damages]
    if json:
        show_json(_as_json(directory, parts))
    else:
        rows = [(part.name, f"{part.files:,}", _result(part)) for part in parts if part.files or part.damages]
        show_table(
            ("files", "number", "result"),
            rows,
            ("heading", *("bad" if row[2] != "good" else "" for row in rows)),
        )
        for damage in damages:
            print_message(str(damage.error()), "bad")
        if not damages:
            print_message(f"{directory}: no damage", "good")
    if damages:
        raise typer.Exit(1)


@checkpoint.command()
def upgrade(directory: Directory, *, json: AsJson = False) -> None:
    """Add checksums to a checkpoint or savepoint of version 0.2, in place.

    The pipeline must not be running. Can be repeated, also if it was killed. A damage that happened before
    cannot be detected.

    For example:

    - `headrace checkpoint upgrade .headrace/fraud`
    """
    from headrace.checkpoints.integrity.upgrade import upgrade_checkpoint

    files = upgrade_checkpoint(directory)
    if json:
        show_json({"directory": str(directory), "files": files})
    elif files:
        print_message(f"{directory}: {files:,} files have checksums now", "good")
    else:
        print_message(f"{directory}: its files have checksums already")


def _result(part: Part) -> str:
    return "good" if not part.damages else f"{len(part.damages)} damaged or missing"


def _as_json(directory: Path, parts: list[Part]) -> dict[str, Any]:
    checked = [{"files": part.name, "number": part.files, "damages": len(part.damages)} for part in parts]
    damages = [_damage_as_json(damage) for part in parts for damage in part.damages]
    return {"directory": str(directory), "checked": checked, "damages": damages}


def _damage_as_json(damage: Damage) -> dict[str, str]:
    return {"file": str(damage.file), "problem": damage.what, "lost": damage.lost, "hint": damage.hint}
