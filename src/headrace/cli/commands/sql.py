"""`headrace sql`: a shell for statements over streams."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import check_file, flag, parse_pairs
from headrace.cli.shell.display import Format
from headrace.errors import OptionError


def sql(
    statements: Annotated[
        list[str] | None,
        typer.Option("--execute", "-e", metavar="SQL", help="Execute statements and exit; may be repeated."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", metavar="FILE", help="Execute the statements of a file and exit."),
    ] = None,
    init: Annotated[
        Path | None,
        typer.Option(
            "--init", "-i", metavar="FILE", help="Execute a file first, such as one with the sources."
        ),
    ] = None,
    *,
    format: Annotated[  # noqa: A002 - the name of the option
        Format | None,
        typer.Option(
            metavar="WORD", help="table, json (JSON lines) or csv; default: table on a terminal, else json."
        ),
    ] = None,
    drain: Annotated[
        bool, flag("--drain", help="End queries over inputs without end when the present input is processed.")
    ] = False,
    changes: Annotated[
        bool, flag("--changes", help="Show the changes of tables instead of their rows.")
    ] = False,
    master: Annotated[
        str | None, typer.Option(metavar="MASTER", help="The Spark master; default: local[*].")
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A Spark setting; may be repeated.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The job service of `\\submit`; default: HEADRACE_URL."),
    ] = None,
) -> None:
    r"""Query streams with SQL statements, on a terminal or from a script.

    CREATE SOURCE, TABLE, VIEW and SINK declare. SELECT shows rows: of files and tables those that are there,
    of other inputs a table that updates until Ctrl-C. INSERT INTO writes them to a sink. Without -e and -f,
    statements are read from the terminal; `\help` lists them.

    Exit status: 2 for a refused statement, 1 for a run that failed.

    For example:

    - `headrace sql`
    - `headrace sql --init sources.sql`
    - `headrace sql -i sources.sql -e "SELECT card, sum(amount) AS total FROM tx GROUP BY card" --format csv`
    """
    from headrace.cli.shell.engine import Engine
    from headrace.cli.shell.session import Session
    from headrace.cli.shell.shell import Quit, Shell

    if statements and file is not None:
        raise OptionError("expected -e or -f, got both", where="sql")
    interactive = not statements and file is None and sys.stdin.isatty()
    if interactive:
        _require_prompt()
    chosen = format or ("table" if sys.stdout.isatty() else "json")
    settings = parse_pairs(conf, where="--conf", example="spark.driver.memory=2g")
    shell = Shell(Session(), Engine(master=master, conf=settings), chosen, url, drain, changes)
    try:
        for path in filter(None, (init, file)):
            check_file(path)
            shell.execute(path.read_text(encoding="utf-8-sig", errors="replace"), str(path))
        for text in statements or ():
            shell.execute(text, "-e")
        if interactive:
            from headrace.cli.shell.prompt import interact

            shell.engine.warm_up()
            interact(shell)
        elif not statements and file is None:
            shell.execute(sys.stdin.read(), "<stdin>")
    except Quit:
        return


def _require_prompt() -> None:
    from headrace.connectors.extras import require_package

    require_package("prompt_toolkit", extra="sql")
