"""The `headrace` command: combines the commands and turns errors into messages and exit statuses."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as version_of
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

from headrace.cli.commands import (
    check,
    doctor,
    draw,
    explain,
    jars,
    kafka,
    migrate,
    model,
    mqtt,
    new,
    query,
    registry,
    run,
    schema,
    sql,
    state,
    test,
    to_yaml,
    warm,
    why,
)
from headrace.cli.commands.operations import checkpoint, cluster, diff, savepoint
from headrace.cli.commands.service import drive, jobs, serve, upgrades, users
from headrace.cli.options import flag
from headrace.cli.terminal import errors as failures

_EPILOG = (
    "Exit status: 0 done, 1 the run or a test failed, 2 invalid arguments or files, 130 a second Ctrl-C. "
    "NO_COLOR=1 turns colours off; --traceback (or HEADRACE_TRACEBACK=1) shows Python's traceback of an "
    "error."
)

app = typer.Typer(
    name="headrace",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EPILOG,
)
_DEVELOP, _RUN, _INSPECT, _SERVICES = "Develop", "Run", "Inspect", "Services"

app.command(rich_help_panel=_DEVELOP)(new.new)
app.command(rich_help_panel=_DEVELOP)(check.check)
app.command(rich_help_panel=_DEVELOP)(explain.explain)
app.command("test", rich_help_panel=_DEVELOP)(test.run_tests)
app.command(rich_help_panel=_DEVELOP)(draw.draw)
app.command("to-yaml", rich_help_panel=_DEVELOP)(to_yaml.to_yaml)
app.command("connectors", rich_help_panel=_DEVELOP)(schema.list_connectors)
app.command(rich_help_panel=_DEVELOP)(schema.schema)
app.command(rich_help_panel=_DEVELOP)(migrate.migrate)
app.command(rich_help_panel=_RUN)(run.run)
app.command(rich_help_panel=_RUN)(sql.sql)
app.command(rich_help_panel=_RUN)(diff.diff)
app.add_typer(savepoint.savepoint, name="savepoint", rich_help_panel=_RUN)
app.command(rich_help_panel=_RUN)(warm.warm)
app.add_typer(checkpoint.checkpoint, name="checkpoint", rich_help_panel=_RUN)
app.command(rich_help_panel=_INSPECT)(state.state)
app.command(rich_help_panel=_INSPECT)(query.query)
app.command(rich_help_panel=_INSPECT)(why.why)
app.add_typer(model.model, name="model", rich_help_panel=_INSPECT)
app.command(rich_help_panel=_INSPECT)(checkpoint.verify)
app.command(rich_help_panel=_INSPECT)(doctor.doctor)
app.add_typer(jars.jars, name="jars", rich_help_panel=_INSPECT)
app.command(rich_help_panel=_SERVICES)(serve.serve)
app.command(hidden=True)(drive.drive)
app.add_typer(jobs.jobs, name="jobs", rich_help_panel=_SERVICES)
for _command in (upgrades.savepoint, upgrades.restore, upgrades.upgrade, upgrades.scale, upgrades.autoscale):
    jobs.jobs.command()(_command)
app.add_typer(users.users, name="users", rich_help_panel=_SERVICES)
app.add_typer(cluster.cluster, name="cluster", rich_help_panel=_SERVICES)
app.add_typer(kafka.kafka, name="kafka", rich_help_panel=_SERVICES)
app.add_typer(mqtt.mqtt, name="mqtt", rich_help_panel=_SERVICES)
app.add_typer(registry.registry, name="registry", rich_help_panel=_SERVICES)
# Names of 0.2, until 1.0.
app.command("document", hidden=True)(to_yaml.to_yaml)
app.command("plan", hidden=True)(diff.diff)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"headrace {version_of('headrace')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        flag("--version", is_eager=True, callback=_version, help="Print the version."),
    ] = False,
    traceback: Annotated[
        bool, flag("--traceback", help="Show Python's traceback of an error; may stand anywhere.")
    ] = False,
) -> None:
    """Stream processing on Spark, in Python: run, check, explain and test pipelines."""


def command() -> TyperGroup:
    """Return the command with its subcommands; the help shows no type of options without a value."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    _hide_types(group, typer.Context(group, **app.info.context_settings or {}))
    return group


def _hide_types(command: Any, context: typer.Context) -> None:
    for option in (*command.params, command.get_help_option(context)):
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for name, each in getattr(command, "commands", {}).items():
        _hide_types(each, typer.Context(each, parent=context, info_name=name))


def main(arguments: list[str] | None = None) -> None:
    """Run the console script and exit with its status; errors are printed without a traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    words = _without_traceback(words)
    try:
        command()(args=words, prog_name="headrace")
    except BrokenPipeError:  # `headrace explain ... | head` closes the pipe early
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except SystemExit as ending:
        if ending.code == failures.INTERRUPTED:  # Typer turns a Ctrl-C into a silent exit
            failures.report(KeyboardInterrupt())
        raise
    except (Exception, KeyboardInterrupt) as error:
        sys.exit(failures.report(error))


def _without_traceback(words: list[str]) -> list[str]:
    """Accept `--traceback` at any position, because users add it to a command that has just failed."""
    end = words.index("--") if "--" in words else len(words)
    if "--traceback" in words[:end]:
        os.environ[failures.VARIABLE] = "1"
    return [word for place, word in enumerate(words) if word != "--traceback" or place > end]


if __name__ == "__main__":
    main()
