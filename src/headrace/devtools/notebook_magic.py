"""`%%headrace`: a notebook cell with a pipeline in YAML or SQL."""

from __future__ import annotations

import argparse
import re
import shlex
from typing import Any, NoReturn

from headrace import statements, yaml
from headrace.connectors.memory import Memory
from headrace.errors import OptionError, clean_traceback
from headrace.html_tables import rows_table
from headrace.steps.base import NAME
from headrace.streams.pipeline import Pipeline

MAGIC = "headrace"
_SQL = re.compile(r"\s*(--.*\n\s*)*(set|create|insert|select|with|drop)\b", re.IGNORECASE)


def load(shell: Any) -> None:
    """Add `%%headrace` to a notebook."""
    shell.register_magic_function(
        lambda line, cell: _run_cell(shell, line, cell), magic_kind="cell", magic_name=MAGIC
    )


def build(text: str, name: str) -> Pipeline:
    """Return the pipeline of a document or of SQL statements.

    >>> build("CREATE SOURCE words (word STRING) WITH (connector = 'memory')", "p").name
    'p'
    """
    load_text = statements.from_text if _SQL.match(text) else yaml.from_text
    return Pipeline._from_graph(load_text(text, file="<cell>", name=name))


def _run_cell(shell: Any, line: str, cell: str) -> None:
    try:
        options = _parse(line)
        pipeline = build(cell, options.name)
        shell.user_ns[options.name] = pipeline
        if options.until is None:
            _display(pipeline._repr_html_())
            return
        pipeline.run(until=options.until, fresh=options.fresh)
        _display_results(pipeline)
    except Exception as error:
        raise clean_traceback(error) from None


def _display_results(pipeline: Pipeline) -> None:
    """Show the rows of each sink in memory."""
    for sink in pipeline._graph.sinks:
        if isinstance(sink.connector, Memory):
            _display(f"<b>{sink.name}</b>{rows_table(sink.connector.contents())}")


def _display(page: str) -> None:
    from IPython.display import HTML, display

    display(HTML(page))  # type: ignore[no-untyped-call]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionError(message, where=f"%%{MAGIC}", hint=self.format_usage().strip())


def _parse(line: str) -> argparse.Namespace:
    parser = _Parser(prog=f"%%{MAGIC}", add_help=False)
    parser.add_argument("name", nargs="?", default="pipeline", help="the variable that the pipeline gets")
    parser.add_argument("--until", choices=("stopped", "caught_up", "drained"), help="run it")
    parser.add_argument("--fresh", action="store_true", help="start over")
    options = parser.parse_args(shlex.split(line))
    if not NAME.fullmatch(options.name) or not options.name.isidentifier():
        raise OptionError(f"expected the name of a variable, got {options.name!r}", where=f"%%{MAGIC}")
    return options
