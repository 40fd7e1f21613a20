"""A query over the outputs of a plan, as in the step `sql`: the same nodes as those of a view in a script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from headrace.errors import DocumentError, OptionError
from headrace.plan.graph import Graph
from headrace.statements.draft import Draft, refuse, to_value
from headrace.statements.queries import QueryBuilder
from headrace.statements.relations import WINDOW_BOUNDS, Relation
from headrace.statements.tokens import Cursor, Script, split_statements
from headrace.statements.unions import drop_times
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.facts import CHANGE
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.rows.sql import Sql, sql_node
from headrace.yaml.positions import Value

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

_REPLACED = "replaces rows, whose old versions would be results"


class ReadSteps(Protocol):
    """Reads the entries of a document into nodes over the outputs of a plan: `yaml.build.read_steps`."""

    def __call__(
        self, graph: Graph, steps: Mapping[str, tuple[str, Value]], /, *, checked: bool = True
    ) -> list[Node]: ...


def step_nodes(
    graph: Graph,
    name: str,
    query: str,
    known: Mapping[str, Ref],
    *,
    timed: Mapping[str, Ref] | None = None,
    where: str,
    read: ReadSteps,
) -> list[Node]:
    """Return the nodes of a `sql` step: one query of Spark, or the steps of a query that Spark cannot run.

    Args:
        graph: the plan with the outputs that the query can read.
        name: the name of the step, and of its last node.
        query: the text of one query.
        known: the outputs by the names that the query has for them.
        timed: the outputs that have event time, for the forms that need it, by the same names.
        where: the location of the query in errors; line and column in its text follow.
        read: reads the steps.

    Raises:
        DocumentError: the query has an error, or no steps that give its rows; with reason and rewrite.
    """
    node: Sql | RowPattern | None = None
    try:
        node = sql_node(name, query, known, timed=timed)
        if isinstance(node, RowPattern) or (node is not None and not node.is_refused(graph)):
            return [node]
    except OptionError:  # the query has forms that Spark does not, or an error, which has a place below
        pass
    try:
        return query_nodes(graph, name, query, {**known, **(timed or {})}, where=where, read=read)
    except DocumentError:
        if node is not None:
            return [node]  # its refusals are problems of the plan
        raise


def query_nodes(
    graph: Graph, name: str, query: str, known: Mapping[str, Ref], *, where: str, read: ReadSteps
) -> list[Node]:
    """Return the nodes of a query, the last of which is called `name`.

    Args:
        graph: the plan with the outputs that the query can read.
        name: the name of the step.
        query: the text of one query.
        known: the outputs by the names that the query has for them.
        where: the location of the query in errors; line and column in its text follow.
        read: reads the steps.

    Raises:
        DocumentError: the query has no steps that give its rows; with reason and rewrite.
    """
    script = Script(query, where)
    tokens = _only_query(script)
    draft = Draft(adds_sources=False)
    draft.reserved |= set(graph.nodes)
    catalog = {key.lower(): _relation(graph, ref) for key, ref in known.items()}
    builder = QueryBuilder(script, draft, catalog)
    place = Cursor(script, tokens).place
    relation = builder.build(name, tokens, place)
    for source in {token.text.lower() for token in tokens} & set(catalog):
        if catalog[source].replaces:
            raise refuse(place, f"`{source}` {_REPLACED}", "emit panes once, or write the steps in Python")
    if relation.ref != name:
        builder.add(name, place, {"from": relation.ref, "where": "true"})
    drop_times(draft, lambda: graph.plus(*read(graph, _entries(draft), checked=False)))
    return read(graph, _entries(draft))


def _entries(draft: Draft) -> dict[str, tuple[str, Value]]:
    return {step: (at, to_value(entry, at)) for step, (at, entry) in draft.sections["steps"].items()}


def _only_query(script: Script) -> list[Token]:
    statements = split_statements(script)
    if len(statements) != 1:
        raise refuse(f"{script.file}:1:1", f"expected one query, got {len(statements)} statements", "")
    [tokens] = statements
    if tokens[0].text.upper() not in ("SELECT", "WITH", "("):
        what = f"a sql step is one query, not {tokens[0].text.upper()}"
        hint = "write statements in a script: `headrace run script.sql`, `Pipeline.from_sql_text(...)`"
        raise refuse(Cursor(script, tokens).place, what, hint)
    into = next((token for token in tokens if token.text.upper() == "INTO"), None)
    if into is not None and script.text[into.start] not in "`'\"":
        raise refuse(script.place(into), "a sql step writes no table", "write its rows with write(...)")
    return tokens


def _relation(graph: Graph, ref: Ref) -> Relation:
    """Return an output of a plan as queries see it."""
    facts = graph.facts(ref)
    columns = facts.columns
    marked = facts.change == "table" and columns is not None and CHANGE in columns
    if marked:
        columns = tuple(column for column in columns or () if column != CHANGE)
    schema = facts.schema
    relation = Relation(
        str(ref),
        columns,
        times=(facts.time_column,) if facts.timed and facts.time_column is not None else (),
        changes="none" if facts.change == "none" else "table",
        key=facts.table_key if facts.change == "table" and not facts.fixed else (),
        marked=marked,
        labelled=facts.change == "table" and facts.keyed and not marked,
        replaces=facts.change in ("refinements", "updates"),
        types={field.name: str(field.type) for field in schema.fields} if schema is not None else {},
        side_outputs=dict.fromkeys(graph[ref.step].outputs[1:], ref.step) if ref.output == MAIN else {},
    )
    is_pane = facts.timed and facts.time_column is None and "window" in (columns or ())
    return replace(relation, bounds=WINDOW_BOUNDS) if is_pane else relation
