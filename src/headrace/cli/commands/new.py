"""`headrace new`: create a project from a template."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from headrace.cli.terminal.output import show, show_lines
from headrace.errors import OptionError

TEMPLATES = Path(__file__).parents[2] / "devtools" / "templates"
SUFFIX = ".tmpl"
"""Suffix of Python files in templates, so that tools do not treat them as modules of this package."""

Template = Literal["blank", "card_fraud", "connector", "word_count"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ABOUT = {
    "connector.py": "the connector",
    "pipeline.py": "the pipeline",
    "pipeline.yaml": "the same pipeline in YAML; keep one of them",
    "README.md": "the commands",
    "tests": "tests in virtual time, or crash tests",
    "pyproject.toml": "registers the connector once it is installed",
}


def new(
    name: Annotated[
        Path,
        typer.Argument(metavar="NAME", help="The project's directory; its last part names the pipeline."),
    ],
    template: Annotated[
        Template | None,
        typer.Option(
            metavar="TEMPLATE",
            help=f"{', '.join(get_args(Template))}; default: the one called NAME, or word_count.",
        ),
    ] = None,
) -> None:
    """Create a project from a template: a pipeline in Python and YAML, data, a test and a README.

    For example:

    - `headrace new fraud --template card_fraud && cd fraud && headrace run pipeline.py --drain`
    - `headrace new connector`: your own sink with crash tests
    """
    if not _NAME.fullmatch(name.name):
        raise OptionError(
            f"expected a name of letters, digits, _ and -, got {name.name!r}",
            where="new",
            hint="such as my-pipeline",
        )
    if name.exists() and (not name.is_dir() or any(name.iterdir())):
        raise OptionError("it exists and is not empty", where=str(name), hint="choose another name")
    namesake = name.name if name.name in get_args(Template) else "word_count"
    _copy(TEMPLATES / (template or namesake), name)
    _show_files(name)


def _copy(template: Path, target: Path) -> None:
    for source in sorted(template.rglob("*")):
        path = target / str(source.relative_to(template)).removesuffix(SUFFIX)
        if source.is_file() and "__pycache__" not in source.parts:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source.read_text().replace("{{name}}", target.name))


def _show_files(project: Path) -> None:
    show(f"created {project}/", "good")
    for path in sorted(project.iterdir(), key=lambda file: (*_ABOUT, file.name).index(file.name)):
        word = f"{path.name}/" if path.is_dir() else path.name
        show_lines([((f"  {word:<15}", "name"), (_ABOUT.get(path.name, "data"), "rail"))])
    show("next:")
    for command in (f"cd {project}", *_commands(project)):
        show(f"  {command}")


def _commands(project: Path) -> list[str]:
    """Return the commands in the README."""
    lines = (project / "README.md").read_text().splitlines()
    return [line.split("#")[0].strip() for line in lines if line.startswith("headrace ")]
