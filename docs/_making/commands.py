"""Build the page of the command line from the commands."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer.main


def cli_page() -> str:
    """Return the page with every command, its arguments and options."""
    from headrace.cli.app import app

    root = typer.main.get_command(app)
    commands = dict(_commands(root))
    parts = ["# Command line", "", _help(root), ""]
    parts += ["| command | description |", "|---|---|"]
    parts += [
        f"| [`headrace {name}`](#{name.replace(' ', '-')}) | {_first(command)} |"
        for name, command in commands.items()
    ]
    parts += ["", *_options(root)]
    for name, command in commands.items():
        parts += [f"## {name}", "", "```text", _usage(name, command), "```", "", _help(command), ""]
        parts += _options(command)
    return "\n".join(parts) + "\n"


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each command with its full name; the commands of a group follow it."""
    for name, command in getattr(group, "commands", {}).items():
        if command.hidden:
            continue
        yield f"{before}{name}", command
        yield from _commands(command, f"{before}{name} ")


def _usage(name: str, command: Any) -> str:
    arguments = [_argument(param) for param in command.params if param.param_type_name == "argument"]
    return " ".join(["headrace", name, "[OPTIONS]", *arguments])


def _argument(param: Any) -> str:
    name = param.metavar or param.name.upper()
    return f"{name if param.required else f'[{name}]'}{'...' if param.nargs == -1 else ''}"


def _options(command: Any) -> Iterator[str]:
    params = [param for param in command.params if not getattr(param, "hidden", False)]
    if not params:
        return
    yield "| argument or option | description |"
    yield "|---|---|"
    for param in params:
        names = param.opts if param.param_type_name == "option" else [(param.metavar or param.name.upper())]
        value = (
            f" {param.metavar}" if param.param_type_name == "option" and getattr(param, "metavar", "") else ""
        )
        cell = ", ".join(f"`{name}{value}`" for name in (*names, *param.secondary_opts))
        yield f"| {cell} | {_cell(getattr(param, 'help', '') or '')} |"
    yield ""


def _help(command: Any) -> str:
    return inspect.cleandoc(command.help or "").replace("\f", "")


def _first(command: Any) -> str:
    return _cell(_help(command).split("\n\n")[0])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
