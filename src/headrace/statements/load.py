"""Read a script into a plan: statements to a document, the document to nodes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.access import accepted_environment
from headrace.access.effort import TOO_DEEP, TOO_DEEP_HINT, EffortError, check_effort
from headrace.connectors.registry import connector
from headrace.durations import microseconds
from headrace.errors import DocumentError, HeadraceError, OptionError, did_you_mean
from headrace.functions.reference import search_directory
from headrace.plan.graph import Graph
from headrace.statements import functions
from headrace.statements.declarations import (
    Create,
    CreateFunction,
    CreateView,
    Insert,
    Placed,
    Query,
    Setting,
    Statement,
    is_function,
    parse_statement,
    skip_statement_set,
)
from headrace.statements.draft import Draft, refuse, to_value
from headrace.statements.durations import interval_length
from headrace.statements.queries import QueryBuilder, SelectBuilder
from headrace.statements.ranks import ARRIVAL
from headrace.statements.relations import Relation, quote
from headrace.statements.tokens import Cursor, Script, split_statements
from headrace.statements.types import schema_type
from headrace.statements.unions import drop_times
from headrace.steps.base import NAME
from headrace.steps.facts import CHANGE
from headrace.steps.tables.top_n import RANK
from headrace.yaml.entries import read_sink
from headrace.yaml.errors import ErrorCollector, locate_errors, raise_problem
from headrace.yaml.load import read_tree, read_valid
from headrace.yaml.parsing import expand_tree
from headrace.yaml.positions import Value

_CHANGELOGS = ("true", "retract", "false")
"""The values of the option `changelog`."""
_SETTINGS = ("name", "every", "checkpoint")
_SOURCE_KEYS = ("format", "on_error")


def load(path: str | Path, *, environment: Mapping[str, str] | None = None) -> Declared:
    """Read a file of SQL statements that writes to a sink, or is a single query.

    Raises:
        DocumentError: the file cannot be read, writes nothing, or has an invalid statement; every error has
            line and column.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise_problem(str(path), f"the file cannot be read: {error}")
    declared = declare(text, file=str(path), name=_default_name(Path(path)), environment=environment)
    require_sink(declared.graph, str(path))
    return declared


def require_sink(graph: Graph, file: str) -> None:
    """Reject a script that writes nothing.

    Raises:
        DocumentError: the plan has no sink.
    """
    if not graph.sinks:
        hint = "add CREATE SINK and INSERT INTO; a single query is written to the console"
        raise refuse(f"{file}:1:1", "nothing is written", hint)


def loads_code(text: str, *, file: str = "<sql>") -> bool:
    """Return True if a script has `CREATE FUNCTION`; nothing is imported.

    >>> loads_code("CREATE FUNCTION f AS 'm:f'"), loads_code("-- CREATE FUNCTION f AS 'm:f'")
    (True, False)
    """
    script = Script(text, file)
    try:
        statements = split_statements(script)
    except DocumentError:  # reported when the script is loaded
        return False
    return any(is_function(Cursor(script, tokens)) for tokens in statements)


def from_text(
    text: str,
    *,
    file: str = "<sql>",
    name: str = "",
    environment: Mapping[str, str] | None = None,
    retracting: Collection[str] = (),
    directory: Path | None = None,
) -> Graph:
    """Read a plan from SQL statements; `retracting` are tables with `changelog = 'retract'`.

    >>> graph = from_text(\"\"\"
    ...     CREATE SOURCE words (word STRING) WITH (connector = 'memory');
    ...     CREATE VIEW counts AS SELECT word, count(*) AS n FROM words GROUP BY word;
    ... \"\"\", name="words")
    >>> list(graph.nodes)
    ['words', 'counts']

    Raises:
        DocumentError: a statement is invalid; every error has line and column.
    """
    declared = declare(
        text, file=file, name=name, environment=environment, retracting=retracting, directory=directory
    )
    return declared.graph


@dataclass(frozen=True)
class Declared:
    """The plan of a script, its relations by lower-case name, and its settings for runs."""

    graph: Graph
    relations: Mapping[str, Relation]
    settings: Mapping[str, str] = field(default_factory=dict)
    """`every` and `checkpoint`, as far as they are set."""


def declare(
    text: str,
    *,
    file: str = "<sql>",
    name: str = "",
    environment: Mapping[str, str] | None = None,
    unused_sinks: bool = False,
    retracting: Collection[str] = (),
    directory: Path | None = None,
) -> Declared:
    """Read a script, whose relations a shell completes and describes.

    Args:
        text: the statements.
        file: the name of the script in errors.
        name: the name of the pipeline if the script has none.
        environment: the variables; default: the environment of the process.
        unused_sinks: accept sinks that nothing is written to, and a script without sources.
        retracting: the tables that are read as if `changelog` were `retract`.
        directory: the directory of Python functions; default: that of the file, or the current one.

    Raises:
        DocumentError: a statement is invalid; every error has line and column.
    """
    search_directory(directory or (Path(file).parent if Path(file).is_file() else Path.cwd()))
    variables = accepted_environment() if environment is None else environment
    script = Script(text, file)
    try:
        builder = _ScriptBuilder(script, name, unused_sinks=unused_sinks, retracting=retracting)
        for tokens in split_statements(script):
            builder.attempt(Cursor(script, tokens))
        builder.finish()
        errors = ErrorCollector()
        for problem in builder.draft.problems:
            errors.add(problem.where, problem.what, problem.hint)
        for sink, where, entry in builder.unused:
            errors.attempt(read_sink, sink, where, expand_tree(entry, variables, errors))
        if unused_sinks and not builder.draft.sections["sources"]:
            errors.raise_any()
            return Declared(Graph(builder.name or "unnamed", {}), {})
        name, where = builder.name or "unnamed", f"{file}:1:1"
        drop_times(builder.draft, lambda: read_valid(builder.draft.tree(name, where)))
        tree = builder.draft.tree(name, where)
        graph = read_tree(expand_tree(tree, variables, errors), builder.name, errors)
        return Declared(graph, builder.relations, builder.settings)
    except RecursionError:
        raise_problem(file, TOO_DEEP, TOO_DEEP_HINT)


class _ScriptBuilder:
    """Adds the statements of a script to its document."""

    def __init__(
        self, script: Script, name: str, *, unused_sinks: bool = False, retracting: Collection[str] = ()
    ) -> None:
        self.draft = Draft()
        self.name = name
        self.settings: dict[str, str] = {}
        self.unused: list[tuple[str, str, Value]] = []
        """The sinks that nothing is written to, if they are accepted: name, place and entry."""
        self._accepts_unused = unused_sinks
        self._retracting = frozenset(retracting)
        self._script = script
        self._catalog: dict[str, Relation] = {}
        self._sinks: dict[str, Create] = {}
        self._inserts: dict[str, list[str]] = {}
        self._failed: set[str] = set()
        """The sinks with a query that was refused."""
        self._lacks_insert = False
        """True if an `INSERT` has wrong syntax: its sink may be any of those without a query."""
        self._changing: set[str] = set()
        """The sinks without a key that get changes."""
        self._places: dict[str, str] = {}
        self._queries = QueryBuilder(script, self.draft, self._catalog)
        self._bare: list[Query] = []

    @property
    def relations(self) -> Mapping[str, Relation]:
        """The named relations, by lower-case name."""
        return self._catalog

    def attempt(self, cursor: Cursor) -> None:
        """Add a statement; its problems are collected."""
        if skip_statement_set(cursor):
            return
        where = cursor.place
        check_effort()
        inserts = cursor.peek("INSERT")
        try:
            statement = parse_statement(cursor)
            inserts = False
            self._add(statement, where)
        except EffortError:
            raise
        except DocumentError as error:
            self.draft.problems += error.problems
        except HeadraceError as error:
            self.draft.fail(where, error.what, error.hint)
        self._lacks_insert = self._lacks_insert or inserts

    def finish(self) -> None:
        """Add the sinks, whose inputs are known now."""
        self._finish_queries()
        for name, create in self._sinks.items():
            inputs = self._inserts.get(name, [])
            if name in self._failed:
                continue
            if not inputs and self._accepts_unused:
                where = create.name.where
                self.unused.append((name, where, to_value(self._sink_entry(create, name), where)))
                continue
            if not inputs and self._lacks_insert:
                continue
            if not inputs:
                self.draft.fail(
                    create.name.where, f"nothing is written to the sink `{name}`", "add INSERT INTO"
                )
                continue
            self.draft.add(
                "sinks", name, create.name.where, self._sink_entry(create, self._union(name, inputs))
            )
        for relation in self._catalog.values():
            if relation.lookup is not None:
                self._remove_unread(relation.ref.partition(":")[0])

    def _remove_unread(self, table: str) -> None:
        """Remove the stream of a table that queries only look up in: it need not be readable as a stream."""
        own = {name for part in self.draft.sections.values() for name in part if name.split(":")[0] == table}
        entries = (
            entry
            for part in self.draft.sections.values()
            for name, (_, entry) in part.items()
            if name not in own
        )
        if own and not any(_reads(entry, own) for entry in entries):
            for part in self.draft.sections.values():
                for name in own & set(part):
                    del part[name]

    def _add(self, statement: Statement, where: str) -> None:
        match statement:
            case Setting():
                self._set(statement)
            case Create(kind="sink"):
                self._claim(statement.name)
                self._endpoint(statement)
                self._sinks[statement.name.text] = statement
                if statement.query:
                    self._insert(Insert(statement.name, (), statement.query))
            case Create():
                self._claim(statement.name)
                self._source(statement)
            case CreateView():
                self._claim(statement.name)
                self._catalog[statement.name.text.lower()] = self._view(statement)
            case CreateFunction():
                self._function(statement)
            case Insert():
                self._insert(statement)
            case Query():
                self._bare.append(statement)

    def _function(self, statement: CreateFunction) -> None:
        known, key = self._queries.functions, statement.name.text.lower()
        if key in known:
            raise refuse(statement.name.where, f"duplicate function `{statement.name}`", "rename it")
        # The calls of a function that cannot be imported are no further errors.
        known[key] = functions.Function(statement.name.text, statement.reference, "string")
        known[key] = functions.declare(statement)

    def _view(self, view: CreateView) -> Relation:
        """Add the steps of a view."""
        name, where = view.name.text, view.name.where
        positional = bool(view.columns)
        relation = self._queries.build(name, view.query, where, positional=positional)
        if not view.columns:
            return relation
        columns = [column.text for column in view.columns]
        return SelectBuilder(self._queries, name, where, self._catalog).renamed(relation, columns, name)

    def _claim(self, name: Placed) -> None:
        key = name.text.lower()
        if not NAME.fullmatch(name.text):
            raise refuse(
                name.where, f"expected a name of letters, digits, _ and -, got `{name}`", "rename it"
            )
        if key in self._places:
            raise refuse(name.where, f"duplicate name `{name}`", f"the first is at {self._places[key]}")
        if key == self.draft.one_row:
            hint = "rename it, or declare it before the query without FROM"
            raise refuse(name.where, f"`{name}` is the name of the row of queries without FROM", hint)
        self._places[key] = name.where

    def _set(self, setting: Setting) -> None:
        if setting.name.text.lower() not in _SETTINGS:
            hint = did_you_mean(setting.name.text, _SETTINGS)
            raise refuse(setting.name.where, f"unknown setting `{setting.name}`", hint)
        value = setting.value
        match setting.name.text.lower():
            case "every":
                with locate_errors(value.where):
                    microseconds(value.text)
                self.settings["every"] = value.text
            case "checkpoint":
                self.settings["checkpoint"] = value.text
            case _ if not NAME.fullmatch(value.text):
                what = f"expected a name of letters, digits, _ and -, got `{value}`"
                raise refuse(value.where, what)
            case _:
                self.name = value.text

    # Sources and tables

    def _source(self, create: Create) -> None:
        name, where = create.name.text, create.name.where
        entry, kind = self._endpoint(create)
        roles = connector(kind).roles
        declared = [column for column in create.columns if column.expression is None]
        schema = ", ".join(f"{quote(c.name.text)} {schema_type(c.type)}" for c in declared)
        if schema:
            entry["schema"] = Placed(schema, create.columns[0].name.where)
        lookup = None
        if create.kind == "table" and "table" in roles and "source" not in roles:
            columns = tuple(column.name.text for column in declared)
            lookup = dict(entry)
            self._catalog[name.lower()] = Relation(name, columns, lookup=lookup)
            return
        if create.kind == "table" and "table" in roles and kind != "memory":  # its rows arrive during the run
            lookup = dict(entry)
        self._stream(create, entry, lookup, where)

    def _stream(self, create: Create, entry: dict[str, Any], lookup: Any, where: str) -> None:
        """Add the entries of a source: connector, computed columns, time, and for a table the latest rows."""
        name = create.name.text
        computed = {
            column.name.text: self._computed(column.expression, column.type)
            for column in create.columns
            if column.expression is not None and not _is_clock(column.expression.text)
        }
        clock = tuple(
            column.name.text
            for column in create.columns
            if column.expression is not None and _is_clock(column.expression.text)
        )
        names = tuple(c.name.text for c in create.columns if c.name.text not in clock)
        time = self._event_time(create, names)
        is_table = create.kind == "table"
        if is_table and not create.key and not self._is_changelog(create):
            hint = "add PRIMARY KEY (column), or write CREATE SOURCE for a stream"
            raise refuse(where, f"the table `{name}` has no key", hint)
        for key in create.key:
            if key.text.lower() not in (known.lower() for known in names):
                raise refuse(key.where, f"unknown key column `{key}`", did_you_mean(key.text, names))
        changes: dict[str, Any] = {"event_time": time} if time is not None else {}
        schema = entry.get("schema")
        if delivered := self._is_changelog(create):
            if not schema:
                hint = "declare its columns, which the changes have, such as CREATE TABLE item (id INT, ...)"
                raise refuse(where, f"the changes of `{name}` have no columns", hint)
            entry["schema"] = Placed(f"{schema}, {CHANGE} string", schema.where)
            changes["changelog"] = True
        self.draft.add("sources", name, where, entry if computed else entry | changes)
        ref = name
        if computed:
            ref = self.draft.new_name(name, "with_columns")
            self.draft.add("steps", ref, where, {"from": name, "with_columns": computed, **changes})
        retracts = self._retracts(create)
        if create.key and (is_table or delivered) and not retracts:
            keys = [key.text for key in create.key]
            latest = self.draft.new_name(name, "latest")
            self.draft.add("steps", latest, where, {"from": ref, "key_by": keys, "latest": {}})
            ref = latest
        is_table = is_table or delivered
        self._catalog[name.lower()] = Relation(
            ref,
            names or None,
            times=(time["column"].text,) if time is not None else (),
            clock=clock,
            changes="table" if is_table else "none",
            marked=is_table,
            key=() if retracts else tuple(key.text for key in create.key),
            types={c.name.text: schema_type(c.type) for c in create.columns if c.type},
            lookup=lookup,
            side_outputs={"dead_letters": name},
        )

    def _event_time(self, create: Create, names: tuple[str, ...]) -> dict[str, Any] | None:
        from sqlglot import expressions as exp

        watermark = create.watermark
        if watermark is None:
            return None
        column = next((name for name in names if name.lower() == watermark.column.text.lower()), None)
        if column is None:
            known = did_you_mean(watermark.column.text, names)
            raise refuse(watermark.column.where, f"unknown column `{watermark.column}`", known)
        cursor = Cursor(self._script, watermark.expression)
        tree = _expression(cursor.text_of(watermark.expression))
        delay: int | None = 0
        if isinstance(tree, exp.Sub):
            delay = interval_length(tree.right)
            tree = tree.left
        if delay is None or not isinstance(tree, exp.Column) or tree.name.lower() != column.lower():
            raise refuse(
                watermark.where,
                "expected the column, or the column minus an interval",
                f"such as WATERMARK FOR {column} AS {column} - INTERVAL '5' SECOND",
            )
        from headrace.durations import text as duration_text

        return {"column": Placed(column, watermark.column.where), "out_of_order": duration_text(delay)}

    def _computed(self, expression: Placed, type_: str) -> Placed:
        if not type_:
            return expression
        return Placed(f"cast({expression.text} as {schema_type(type_)})", expression.where)

    def _endpoint(self, create: Create) -> tuple[dict[str, Any], str]:
        """Return the entry of a source or a sink from its options, and the kind of its connector."""
        options = dict(create.options)
        kind = options.pop("connector", None)
        if kind is None:
            hint = "add connector = 'kafka'"
            if "kafka_topic" in options:  # ksqlDB
                hint = "write connector = 'kafka', topic = '...', format = 'json' for the options of ksqlDB"
            raise refuse(create.name.where, f"`{create.name}` has no connector", hint)
        try:
            connector(kind.text)
        except OptionError as error:
            raise refuse(kind.where, error.what, error.hint) from None
        if create.kind != "sink":
            options.pop("changelog", None)
        entry: dict[str, Any] = {kind.text: _nested(options)}
        for key in _SOURCE_KEYS:
            if key in entry[kind.text] and "format" not in connector(kind.text).model_fields | {}:
                entry[key] = entry[kind.text].pop(key)
        return entry, kind.text

    def _is_changelog(self, create: Create) -> bool:
        """Return True if the rows of a source are changes.

        Raises:
            DocumentError: the option `changelog` has an unknown value.
        """
        option = create.options.get("changelog")
        if option is not None and option.text.lower() not in _CHANGELOGS:
            hint = "changelog = 'true', or 'retract' if each change names the row that it removes"
            raise refuse(option.where, f"expected {', '.join(_CHANGELOGS)}, got '{option}'", hint)
        return option is not None and option.text.lower() != "false"

    def _retracts(self, create: Create) -> bool:
        """Return True if changes are applied as they are: rows that are removed are in the changes."""
        option = create.options.get("changelog")
        if option is None or option.text.lower() == "false":
            return False
        return option.text.lower() == "retract" or create.name.text in self._retracting

    # Sinks

    def _insert(self, insert: Insert) -> None:
        sink = next((name for name in self._sinks if name.lower() == insert.sink.text.lower()), None)
        if sink is None:
            known = did_you_mean(insert.sink.text, self._sinks)
            hint = known if self._sinks else "declare it with CREATE SINK"
            raise refuse(insert.sink.where, f"unknown sink `{insert.sink}`", hint)
        number = len(self._inserts.setdefault(sink, [])) + 1
        create = self._sinks[sink]
        self._check_columns(insert, create)
        name = f"{sink}_rows" if number == 1 else f"{sink}_rows{number}"
        declared = {column.name.text.lower(): column.name.text for column in create.columns}
        columns = [declared.get(column.text.lower(), column.text) for column in insert.columns]
        constants = {declared.get(name.lower(), name): text for name, text in insert.constants.items()}
        columns = columns or [name for name in declared.values() if name not in constants]
        self._inserts[sink].append(name)
        self._failed.add(sink)
        relation = self._queries.build(name, insert.query, insert.sink.where, positional=bool(columns))
        self._check_rows(create, relation, insert.sink.where)
        self._failed.discard(sink)
        if insert.columns and relation.columns is None:
            what = "the columns of the query are unknown, so they cannot be assigned to those of the INSERT"
            raise refuse(insert.sink.where, what, "name the columns in SELECT")
        if columns and relation.columns is not None:
            if len(columns) != len(relation.columns):
                counted = "the INSERT names" if insert.columns else "the sink has"
                raise refuse(
                    insert.sink.where,
                    f"{counted} {len(columns)} columns, the query {len(relation.columns)}",
                    f"select {', '.join(columns)}",
                )
            missing = _left_out(create, [*columns, *constants]) | constants
            if list(relation.columns) != columns or missing:
                self._rename(name, relation, columns, insert.sink.where, missing)
        if insert.conflict is not None:
            self._resolve_conflicts(name, create, insert.conflict)

    def _check_columns(self, insert: Insert, create: Create) -> None:
        """Refuse columns that the sink does not have, and a column that is named twice."""
        known = [column.name.text for column in create.columns]
        for number, column in enumerate(insert.columns):
            if known and column.text.lower() not in (name.lower() for name in known):
                raise refuse(column.where, f"unknown column `{column}`", did_you_mean(column.text, known))
            if column.text.lower() in (other.text.lower() for other in insert.columns[:number]):
                raise refuse(column.where, f"the INSERT names `{column}` twice", "remove one")
        inserted = {column.text.lower() for column in insert.columns}
        required = {key.text: "a key of the sink" for key in create.key} | {
            column.name.text: "which is NOT NULL" for column in create.columns if column.required
        }
        for name, reason in required.items() if inserted else ():
            if name.lower() not in inserted:
                what = f"the INSERT leaves out `{name}`, {reason}"
                raise refuse(insert.sink.where, what, f"insert a value of {name}")

    def _check_rows(self, sink: Create, relation: Relation, where: str) -> None:
        """Refuse rows that replace earlier ones in a sink that would keep all of them."""
        if not _is_keyless(sink):
            return
        if relation.labelled:
            self._changing.add(sink.name.text)
        console = sink.options["connector"].text == "console"
        if relation.changes == "table" and not (relation.marked or relation.labelled or console):
            raise refuse(
                where,
                f"rows of the query replace earlier ones, but the sink `{sink.name}` has no key",
                "add PRIMARY KEY (column) with the keys of GROUP BY",
            )

    def _resolve_conflicts(self, name: str, sink: Create, action: Placed) -> None:
        """Add the steps of `ON CONFLICT`: the first row of each key of the sink, or an error for another.

        `DEDUPLICATE` needs none: a sink has the last row of each key.
        """
        if not sink.key:
            hint = "add PRIMARY KEY (column) to the sink, or remove ON CONFLICT"
            raise refuse(action.where, f"the sink `{sink.name}` has no key that rows can share", hint)
        if action.text == "DEDUPLICATE":
            return
        section = self.draft.sections["steps"]
        inner, ranked = self.draft.new_name(name, "query"), self.draft.new_name(name, "top_n")
        section[inner] = section.pop(name)
        keys = [key.text for key in sink.key]
        top_n = {"n": 1 if action.text == "NOTHING" else 2, "order_by": ARRIVAL}
        self.draft.add("steps", ranked, action.where, {"from": inner, "key_by": keys, "top_n": top_n})
        message = f"two rows of the sink {sink.name} have the same key"
        condition = "true" if action.text == "NOTHING" else f"if({RANK} = 1, true, raise_error('{message}'))"
        self.draft.add("steps", name, action.where, {"from": ranked, "where": condition, "drop": [RANK]})

    def _rename(
        self,
        name: str,
        relation: Relation,
        columns: list[str],
        where: str,
        missing: Mapping[str, str | Placed],
    ) -> None:
        """Give the columns of a query the names of its sink; those left out are null or constant."""
        section = self.draft.sections["steps"]
        inner = self.draft.new_name(name, "query")
        section[inner] = section.pop(name)
        pairs = zip(columns, relation.columns or (), strict=True)
        selected = {to: quote(of) for to, of in pairs} | dict(missing)
        if relation.marked:
            selected[CHANGE] = CHANGE
        self.draft.add("steps", name, where, {"from": inner, "select": selected})

    def _union(self, sink: str, inputs: list[str]) -> str:
        if len(inputs) == 1:
            return inputs[0]
        name = f"{sink}_union"
        self.draft.add("steps", name, self._sinks[sink].name.where, {"union": inputs, "where": "true"})
        return name

    def _sink_entry(self, create: Create, ref: str) -> dict[str, Any]:
        entry, kind = self._endpoint(create)
        fields = connector(kind).model_fields
        if create.key and "key" in fields and "key" not in entry[kind]:
            entry[kind]["key"] = [key.text for key in create.key]
        mode = {"mode": "changes"} if create.name.text in self._changing else {}
        return {"from": ref, **entry, **mode}

    def _finish_queries(self) -> None:
        """Write a single query to the console; the rows of any other query would get lost."""
        for query in self._bare if self._sinks else self._bare[1:]:
            what = "the rows of this query are not written"
            self.draft.fail(query.where, what, "write INSERT INTO sink before SELECT")
        if self._bare and not self._sinks:
            self._attempt_console(self._bare[0])

    def _attempt_console(self, query: Query) -> None:
        try:
            relation = self._queries.build("result", query.query, query.where)
        except DocumentError as error:
            self.draft.problems += error.problems
            return
        mode = {"mode": "changes"} if relation.labelled else {}
        self.draft.add("sinks", "console", query.where, {"from": "result", "console": {}, **mode})


def _reads(entry: Any, names: set[str]) -> bool:
    """Return True if an entry of the document names one of the steps, or has a query that may."""
    if isinstance(entry, Mapping):
        return any(key != "lookup" and _reads(value, names) for key, value in entry.items())
    if isinstance(entry, list | tuple):
        return any(_reads(value, names) for value in entry)
    text = str(entry).lower()
    words = {re.escape(name.lower()) for name in names}
    return any(re.search(rf"(?<![\w:]){word}(?![\w:])", text) is not None for word in words)


def _nested(options: Mapping[str, Placed]) -> dict[str, Any]:
    """Return options as a mapping; `settings.client.id` is an entry of the mapping `settings`.

    Raises:
        DocumentError: an option is both a text and a mapping.
    """
    result: dict[str, Any] = {}
    for name, value in options.items():
        group, dot, key = name.partition(".")
        if not dot and name not in result:
            result[name] = value
        elif dot and isinstance(result.setdefault(group, {}), dict):
            result[group][key] = value
        else:
            what = f"the option `{group}` is given as a text and as a group of options"
            raise refuse(value.where, what, f"remove one of `{group}` and `{group}.NAME`")
    return result


def _left_out(create: Create, columns: list[str]) -> dict[str, str]:
    """Return a null of its type for each column of a sink that an `INSERT` leaves out."""
    named = {column.lower() for column in columns}
    left_out = [c for c in create.columns if c.type and c.name.text.lower() not in named]
    return {c.name.text: f"cast(null as {schema_type(c.type)})" for c in left_out}


def _is_keyless(sink: Create) -> bool:
    return not sink.key and "key" not in sink.options


def _is_clock(expression: str) -> bool:
    return expression.replace(" ", "").lower() == "proctime()"


def _expression(text: str) -> Any:
    """Return a parsed expression; None if its syntax is wrong."""
    from sqlglot import ParseError, parse_one

    try:
        return parse_one(text, dialect="spark")
    except ParseError:
        return None


def _default_name(path: Path) -> str:
    name = "".join(character if character.isalnum() or character in "_-" else "-" for character in path.stem)
    return name if NAME.fullmatch(name) else "pipeline"
