"""`headrace query`: query the tables that a job or a pipeline keeps as state."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.cli.commands.service.jobs import Url
from headrace.cli.loading import SUFFIXES
from headrace.cli.options import CheckpointDirectory, PipelineName
from headrace.cli.shell.display import Format, csv_writer, print_table
from headrace.cli.terminal.output import out, print_message, show_json
from headrace.errors import OptionError


def query(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The id of a job, or a pipeline file.")],
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One query in Spark SQL over tables of the job.")],
    *,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=10_000, help="The maximum number of rows.")
    ] = 100,
    format: Annotated[  # noqa: A002 - the name of the option
        Format, typer.Option(metavar="WORD", help="table, json (with epochs) or csv.")
    ] = "table",
    checkpoint: CheckpointDirectory = None,
    pipeline: PipelineName = None,
    url: Url = None,
) -> None:
    """Query the committed state of a job: latest rows, top-N, running aggregates and open windows.

    Each step `latest`, `top_n` or `aggregate` is a table with the name of the step, and a windowed aggregate
    is the table of its open windows with their results so far. The answer is that of the last committed
    epoch, which it names. The driver of the job reads it; for a pipeline file this command starts Spark and
    reads the checkpoint. Reads only.

    For example:

    - `headrace query 3f2a9c01b7de "select * from totals where n > 5"`
    - `headrace query fraud.yaml "select card, total from totals order by total desc" --limit 10`
    """
    if Path(job).suffix.lower() in SUFFIXES:
        answer = _read_checkpoint(Path(job), sql, limit, checkpoint, pipeline)
    elif checkpoint is not None or pipeline is not None:
        option = "--checkpoint" if checkpoint is not None else "--pipeline"
        raise OptionError(
            f"{option} is for a pipeline file", where="query", hint="name a .py, .yaml or .sql file"
        )
    else:
        from headrace.cli.commands.service.client import Client

        answer = Client(url).get(f"/jobs/{job}/query", sql=sql, rows=limit)
    _show(answer, format)


def _read_checkpoint(
    file: Path, sql: str, limit: int, checkpoint: Path | None, pipeline: str | None
) -> dict[str, Any]:
    from headrace.checkpoints.directory import directory_of
    from headrace.cli.loading import load_one
    from headrace.debugging.tables import query_tables

    graph = load_one(file, pipeline)._plan()
    return query_tables(graph, directory_of(graph.name, checkpoint), sql, limit=limit).as_json()


def _show(answer: dict[str, Any], format_: Format) -> None:
    rows = answer["rows"]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [tuple(_cell(row.get(name)) for name in columns) for row in rows]
    if format_ == "json":
        show_json(answer)
        return
    if format_ == "csv":
        csv_writer()(columns, cells)
    elif rows:
        print_table(out(), columns, cells)
    epochs = ", ".join(f"{name} epoch {epoch}" for name, epoch in answer["epochs"].items())
    more = "; there are more rows (--limit)" if answer["truncated"] else ""
    print_message(f"{len(rows)} row{'' if len(rows) == 1 else 's'}, {epochs}{more}")


def _cell(value: Any) -> Any:
    import json

    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
