"""Executes the statements and commands of a shell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.cli.shell.display import Format, LiveTable, console_of, csv_writer, print_result
from headrace.cli.shell.engine import Engine
from headrace.cli.shell.parsing import DECLARED, Entered
from headrace.cli.shell.results import Result, feed_result, is_bounded
from headrace.cli.shell.session import Session, columns_of
from headrace.cli.terminal.errors import show_problems, show_warnings
from headrace.cli.terminal.output import print_message, show, show_json, show_lines, show_table, width
from headrace.connectors.console import Console as ConsoleConnector
from headrace.errors import HeadraceError, OptionError, did_you_mean
from headrace.explain.explanation import explain
from headrace.explain.text import drawing
from headrace.plan.warnings import warnings_of
from headrace.runtime.options import Until
from headrace.runtime.progress.row_accounting import count_of
from headrace.steps.base import Ref

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.steps.facts import Facts

COMMANDS = {
    "\\help": "show this help",
    "\\quit": "leave the shell; so does Ctrl-D",
    "\\changes": "show the changes of tables instead of their rows; again: the rows",
    "\\submit": "NAME INSERT INTO ...;  submit the statement, with the declarations, as a job of a service",
    "\\drain": "process the input that is there and end; again: run until Ctrl-C",
}
STATEMENTS = {
    "SELECT ...": "show the rows: a table that ends with its input, or one that updates until Ctrl-C",
    "CREATE SOURCE | TABLE | VIEW | SINK ...": "declare; nothing runs",
    "INSERT INTO sink SELECT ...": "write rows until the input ends or Ctrl-C",
    "EXPLAIN SELECT ...": "show the steps, their queries, tiers and state",
    "DESCRIBE name": "show columns and side outputs",
    "SHOW SOURCES | TABLES | VIEWS | SINKS | FUNCTIONS": "list declarations",
    "DROP VIEW name": "remove a declaration",
    "SET 'until' = 'drained'": "when queries end: auto, drained, caught_up or stopped; also name, checkpoint",
}


class Quit(Exception):  # noqa: N818 - a request, not an error
    r"""Raised by `\quit`."""


@dataclass
class Shell:
    """A session, the engine that runs its queries, and the form of their results."""

    session: Session
    engine: Engine
    format: Format = "table"
    url: str | None = None
    """The job service of `\\submit`."""
    drains: bool = False
    shows_changes: bool = False
    run_failed: bool = False
    """True if a run, and not a statement, has failed."""
    _handlers: dict[str, Callable[[Entered], None]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._handlers = dict.fromkeys(DECLARED, self._declare) | {
            "setting": lambda each: self.session.settings.change(each.name, each.value),
            "query": self._select,
            "insert": self._insert,
            "explain": self._explain,
            "describe": self._describe,
            "show": self._show,
            "drop": self._drop,
        }

    def execute(self, text: str, file: str = "") -> None:
        r"""Execute statements, or a command that begins with a backslash.

        Nothing runs if a statement is invalid. Errors have the place in the text, or in its `file`.

        Raises:
            HeadraceError: a statement is refused, or its run failed; later statements are not executed.
            Quit: the command is `\quit`.
        """
        if text.lstrip().startswith("\\"):
            self._command(text.strip().removesuffix(";").strip())
            return
        entered = self.session.enter(text, file)
        self.session.check(entered)
        for statement in entered:
            self._handlers[statement.kind](statement)

    def attempt(self, text: str) -> bool:
        """Execute an input and print its errors; return False if there was one."""
        try:
            self.execute(text)
        except HeadraceError as error:
            show_problems(error.problems)
            return False
        return True

    # Declarations

    def _declare(self, statement: Entered) -> None:
        self.session.declare(statement)
        if self.format == "table":
            print_message(f"{statement.kind} {statement.name} declared", "good")

    def _drop(self, statement: Entered) -> None:
        self.session.drop(statement)
        print_message(f"{statement.value} {statement.name} dropped", "good")

    # Queries

    def _select(self, statement: Entered) -> None:
        graph = self.session.compile(statement)
        [sink] = graph.sinks
        facts = graph.facts(sink.input)
        if self.format == "json":
            json = ConsoleConnector(style="json")
            self._run(graph.plus(replace(sink, connector=json)), checkpoint=None)
        elif self.format == "csv":
            self._run(feed_result(graph, csv_writer()), checkpoint=None)
        else:
            self._show_table(graph, facts)

    def _show_table(self, graph: Graph, facts: Facts) -> None:
        result = Result(facts, as_changes=self.shows_changes)
        console = console_of()
        live = LiveTable(result, console, bounded=self._until(graph) != "stopped")
        with live:
            self._run(feed_result(graph, result.take), checkpoint=None, show=live.show)
        print_result(result, console)

    def _insert(self, statement: Entered) -> None:
        graph = self.session.compile(statement)
        show_warnings(warnings_of(graph))
        began = time.monotonic()
        status = self._run(graph, checkpoint=self.session.settings.checkpoint)
        seconds = time.monotonic() - began
        print_message(
            f"{statement.name}: {count_of(status.rows_out, 'row')} written in {seconds:.1f} s", "good"
        )

    def _run(
        self, graph: Graph, *, checkpoint: Path | None, show: Callable[[Any], None] | None = None
    ) -> Any:
        until = self._until(graph)
        try:
            with self.session.places():
                return self.engine.run(
                    graph, until=until, checkpoint=checkpoint, show=show or (lambda _: None), note=_note
                )
        except HeadraceError:
            self.run_failed = True
            raise

    def _until(self, graph: Graph) -> Until:
        if self.session.settings.until is not None:
            return self.session.settings.until
        inputs = [each for node in graph if not node.inputs for each in node.read_connectors]
        return "drained" if self.drains or is_bounded(inputs) else "stopped"

    # Descriptions

    def _explain(self, statement: Entered) -> None:
        graph = self.session.compile(statement)
        show_warnings(warnings_of(graph))
        show_lines(drawing(explain(graph), width=width()))

    def _show(self, statement: Entered) -> None:
        declared = self.session.declared(statement.value)  # type: ignore[arg-type]
        if self.format == "json":
            show_json([{"name": each.name, "kind": each.kind} for each in declared])
        elif declared:
            for each in declared:
                show(each.name)
        else:
            print_message(f"no {statement.value} is declared")

    def _describe(self, statement: Entered) -> None:
        name, _, output = statement.name.partition(".")
        declared, relation, graph = self.session.relation(name)
        if relation is None:
            show(" ".join(self.session.text_of(declared).split()))
            return
        ref = relation.ref
        if output:
            if output not in relation.side_outputs:
                hint = did_you_mean(output, list(relation.side_outputs))
                raise OptionError(f"`{name}` has no side output `{output}`", where="DESCRIBE", hint=hint)
            ref = f"{relation.side_outputs[output]}.{output}"
        names, facts = columns_of(relation, graph), _facts(graph, ref)
        if output:
            names = (facts.columns if facts is not None else None) or ()
        types = _types(facts)
        sides = [] if output else [f"{name}.{each}" for each in relation.side_outputs]
        keys, updating = {each.lower() for each in relation.key}, _is_updating(facts)
        if self.format == "json":
            columns = [
                {"column": each, "type": types.get(each.lower()), "key": each.lower() in keys}
                for each in names
            ]
            about = {"columns": columns, "side_outputs": sides, "updating": updating}
            show_json({"name": statement.name, "kind": declared.kind, **about})
            return
        rows = [(each, types.get(each.lower(), "-"), "key" if each.lower() in keys else "") for each in names]
        show_table(("column", "type", "key"), rows, ["heading"])
        show("updating: rows replace earlier ones" if updating else "append: rows are only added", "rail")
        for each in sides:
            show(f"side output {each}", "rail")

    # Commands

    def _command(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        match word.lower():
            case "\\quit" | "\\q" | "\\exit":
                raise Quit
            case "\\help" | "\\h" | "\\?":
                show_lines(_help())
            case "\\changes":
                self.shows_changes = _switch(word, rest, current=self.shows_changes)
                print_message(f"results show {'changes' if self.shows_changes else 'rows'}")
            case "\\drain":
                self.drains = _switch(word, rest, current=self.drains)
                ends = "process the input that is there and end" if self.drains else "run until Ctrl-C"
                print_message(f"queries over inputs without end {ends}")
            case "\\submit":
                self._submit(rest.strip())
            case _:
                raise OptionError(f"unknown command `{word}`", hint=did_you_mean(word, list(COMMANDS)))

    def _submit(self, text: str) -> None:
        """Submit the declarations and statements as a job."""
        from headrace.cli.commands.service.client import Client
        from headrace.cli.commands.service.listing import show_state
        from headrace.statements import from_text

        name, _, statements = text.partition(" ")
        if not name:
            raise OptionError(
                "expected the name of the job", where="\\submit", hint="\\submit NAME INSERT INTO ...;"
            )
        entered = self.session.enter(statements) if statements.strip() else []
        if other := next((each for each in entered if each.kind != "insert"), None):
            raise OptionError(f"expected INSERT INTO, got {other.kind}", where="\\submit")
        script = self.session.script(*entered)
        if not from_text(script, name=name).sinks:
            hint = "add INSERT INTO, or declare CREATE SINK ... AS SELECT"
            raise OptionError("nothing is written", where="\\submit", hint=hint)
        client = Client(self.url)
        form = {"name": name} | ({"directory": str(Path.cwd())} if client.is_local else {})
        files = [("pipeline", (f"{name}.sql", script.encode()))]
        show_state(client.post("/jobs", data=form, files=files), self.format == "json")


def _note(text: str) -> None:
    print_message(text, "warn")


def _facts(graph: Graph, ref: str) -> Facts | None:
    step, _, output = ref.partition(".")
    if step not in graph.nodes:
        return None
    outputs = graph[step].outputs
    return graph.facts(Ref(step, output or (outputs[0] if outputs else "")))


def _types(facts: Facts | None) -> dict[str, str]:
    """Return the declared types of columns."""
    fields = facts.schema.fields if facts is not None and facts.schema is not None else ()
    return {each.name.lower(): str(each.type) for each in fields}


def _is_updating(facts: Facts | None) -> bool:
    return facts is not None and facts.change in ("updates", "table")


def _switch(word: str, value: str, *, current: bool) -> bool:
    match value.strip().lower():
        case "":
            return not current
        case "on":
            return True
        case "off":
            return False
        case other:
            raise OptionError(f"expected on or off, got {other!r}", where=word)


def _help() -> Iterator[tuple[tuple[str, str], ...]]:
    for title, entries in (("Statements, each ended by a semicolon", STATEMENTS), ("Commands", COMMANDS)):
        yield ((title, "heading"),)
        for word, text in entries.items():
            yield ((f"  {word}", "verb"), (f"  {text}", "fact"))
        yield ()
    yield (("Tab completes names, options and functions.", "rail"),)
