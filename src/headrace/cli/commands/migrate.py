"""`headrace migrate`: rewrite files of version 0.2 to the spellings of this version."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import check_file, flag
from headrace.cli.terminal.errors import FAILED, show_warnings
from headrace.cli.terminal.output import print_message
from headrace.devtools.migration import Migration
from headrace.errors import OptionError, Problem


def migrate(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Python files, documents and transcripts.")
    ],
    *,
    write: Annotated[bool, flag("--write", help="Rewrite the files.")] = False,
    check: Annotated[
        bool, flag("--check", help="Exit with status 1 if a file has spellings of 0.2; rewrite none.")
    ] = False,
) -> None:
    """Rewrite files of version 0.2 to the spellings of this version.

    Prints the differences. Formatting and comments are kept. A place that has to be changed by hand is a
    warning.

    For example:

    - `headrace migrate pipeline.py fraud.yaml`
    - `headrace migrate --write *.py *.yaml`
    """
    if write and check:
        raise OptionError("expected --write or --check, got both", where="migrate")
    changed = 0
    notes: list[Problem] = []
    for file in files:
        check_file(file)
        text = file.read_text()
        migration = _migrate(file, text)
        notes += [Problem(f"{file}:{note.line}", note.what) for note in migration.notes]
        if migration.text == text:
            continue
        changed += 1
        before, after = text.splitlines(keepends=True), migration.text.splitlines(keepends=True)
        sys.stdout.writelines(difflib.unified_diff(before, after, str(file), str(file)))
        if write:
            file.write_text(migration.text)
    show_warnings(notes)
    done = "rewritten" if write else "to rewrite; add --write"
    print_message(f"{changed} of {len(files)} {'file' if len(files) == 1 else 'files'} {done}")
    if check and (changed or notes):
        raise typer.Exit(FAILED)


def _migrate(file: Path, text: str) -> Migration:
    from headrace.devtools.migration.documents import migrate_document
    from headrace.devtools.migration.programs import migrate_program

    suffix = file.suffix.lower()
    if suffix not in (".py", ".yaml", ".yml"):
        what = f"expected a .py, .yaml or .yml file, got {file.suffix or 'no suffix'}"
        raise OptionError(what, where=str(file))
    return (migrate_program if suffix == ".py" else migrate_document)(text, str(file))
