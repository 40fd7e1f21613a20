"""`headrace draw`: a case as a time line, in SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.output import say
from headrace.errors import LoadError


def draw(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of cases, as `headrace test` takes.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to; else beside the cases, as .svg."),
    ] = None,
    case: Annotated[
        str, typer.Option("--case", metavar="NAME", help="Draw only cases whose name contains this.")
    ] = "",
    step: Annotated[
        str, typer.Option("--step", metavar="NAME", help="Which step with windows, if there are several.")
    ] = "",
) -> None:
    """Draw a case as a time line: what fires when.

    Event time runs to the right, the lines of the script down. Rows are dots, the watermark is a stepped line, windows
    are shaded while they are open, panes are boxes where they fire: coloured by timing, retractions struck through.
    Several cases become panels of one picture. It shows what came, whether or not the case expects it.

    For example:

    - `headrace draw late.transcript.yaml -o late.svg`
    - `headrace draw cases.yaml --case "fires again" -o again.svg`
    """
    from headrace.testing.drawing import draw as drawn

    if not file.is_file():
        raise LoadError("there is no such file", where=str(file), hint=f"it is looked for in {Path.cwd()}")
    target = output or file.with_name(
        f"{file.name.removesuffix(file.suffix).removesuffix('.transcript')}.svg"
    )
    picture = drawn(file, case=case, step=step)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(picture, encoding="utf-8")
    say(f"wrote {target}", "good")
