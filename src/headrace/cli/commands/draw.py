"""`headrace draw`: draw transcripts as time lines and patterns as state diagrams, in SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import check_file
from headrace.cli.terminal.output import print_message
from headrace.errors import OptionError


def draw(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A transcript or a pipeline.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Output file. Default: the input file with .svg."
        ),
    ] = None,
    case: Annotated[
        str, typer.Option("--case", metavar="NAME", help="Draw only cases whose name contains this text.")
    ] = "",
    step: Annotated[
        str, typer.Option("--step", metavar="NAME", help="The step to draw. Default: the first one.")
    ] = "",
    rule: Annotated[
        str, typer.Option("--rule", metavar="ID", help="Draw only this rule of a rule table.")
    ] = "",
) -> None:
    """Draw transcripts as time lines, or the patterns of a pipeline as state diagrams.

    Event time runs to the right, the lines of the script run down. Rows are dots, the watermark is a stepped
    line, windows are shaded while they are open, panes are boxes where they fire, coloured by timing;
    retractions are struck through. Several cases become panels of one picture. The picture shows the actual
    rows, expected or not.

    For example:

    - `headrace draw late.transcript.yaml -o late.svg`
    - `headrace draw cases.yaml --case "fires again" -o again.svg`
    - `headrace draw fraud.yaml -o patterns.svg`: a state diagram for each `match`, each
      MATCH_RECOGNIZE, and each rule of a table
    - `headrace draw fraud.yaml --rule small_then_large`
    """
    check_file(file)
    target = output or file.with_name(
        f"{file.name.removesuffix(file.suffix).removesuffix('.transcript')}.svg"
    )
    picture = _patterns(file, step, rule) if _is_pipeline(file) else _cases(file, case, step)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise OptionError(f"{target} cannot be written: {error.strerror}", where="--output") from error
    print_message(f"wrote {target}", "good")


def _is_pipeline(file: Path) -> bool:
    """Return true if the file is a pipeline, not a transcript."""
    if file.suffix in (".py", ".sql"):
        return True
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return not any(line.startswith(("script:", "pipeline:")) for line in lines)


def _cases(file: Path, case: str, step: str) -> str:
    from headrace.testing.drawing import draw as draw_cases

    return draw_cases(file, case=case, step=step)


def _patterns(file: Path, step: str, rule: str) -> str:
    from headrace.cli.loading import load_one
    from headrace.cli.terminal.pattern_drawings import diagrams_of
    from headrace.explain.pattern_svg import svg_of

    return svg_of(diagrams_of(load_one(file, None)._plan(), step, rule, where=str(file)))
