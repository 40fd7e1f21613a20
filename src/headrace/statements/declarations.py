"""Statements of a script: what they declare, and the parser of everything but queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from headrace.statements.tokens import Cursor

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

Kind = Literal["source", "table", "sink"]
_KINDS = {"SOURCE": "source", "STREAM": "source", "TABLE": "table", "SINK": "sink"}
_CONFLICTS = ("DEDUPLICATE", "NOTHING", "ERROR")
_OF_THE_SHELL = ("EXPLAIN", "DESCRIBE", "DESC", "SHOW", "DROP")
_EXAMPLE = "such as CREATE SOURCE tx (card STRING, ts TIMESTAMP) WITH (connector = 'kafka', topic = 'tx')"


@dataclass(frozen=True)
class Placed:
    """A text and its place."""

    text: str
    where: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ColumnDefinition:
    """A column: declared with a type, or computed by an expression."""

    name: Placed
    type: str = ""
    expression: Placed | None = None
    required: bool = False
    """True for `NOT NULL`."""


@dataclass(frozen=True)
class Watermark:
    """`WATERMARK FOR column AS column - INTERVAL ...`."""

    column: Placed
    expression: tuple[Token, ...]
    where: str


@dataclass(frozen=True)
class Create:
    """`CREATE SOURCE | TABLE | SINK name (columns) WITH (options) [AS query]`."""

    kind: Kind
    name: Placed
    columns: tuple[ColumnDefinition, ...] = ()
    watermark: Watermark | None = None
    key: tuple[Placed, ...] = ()
    options: Mapping[str, Placed] = field(default_factory=dict)
    query: tuple[Token, ...] = ()


@dataclass(frozen=True)
class CreateView:
    """`CREATE VIEW name [(columns)] AS query`."""

    name: Placed
    query: tuple[Token, ...]
    columns: tuple[Placed, ...] = ()


@dataclass(frozen=True)
class CreateFunction:
    """`CREATE FUNCTION name AS 'module:function' [LANGUAGE PYTHON] [WITH (options)]`."""

    name: Placed
    reference: Placed
    options: Mapping[str, Placed] = field(default_factory=dict)


@dataclass(frozen=True)
class Insert:
    """`INSERT INTO sink query`."""

    sink: Placed
    columns: tuple[Placed, ...]
    query: tuple[Token, ...]
    constants: Mapping[str, Placed] = field(default_factory=dict)
    """The columns that `PARTITION (day = '1')` gives a value."""
    conflict: Placed | None = None
    """What to do with several rows of one key of the sink: a word of `ON CONFLICT DO ...`."""


@dataclass(frozen=True)
class Setting:
    """`SET 'name' = 'value'`."""

    name: Placed
    value: Placed


@dataclass(frozen=True)
class Query:
    """A query without a sink."""

    query: tuple[Token, ...]
    where: str


Statement = Create | CreateView | CreateFunction | Insert | Setting | Query


def skip_statement_set(cursor: Cursor) -> bool:
    """Skip the words around a `STATEMENT SET`, as a script is; return True if nothing is left."""
    if cursor.take("EXECUTE", "STATEMENT", "SET") or cursor.take("BEGIN", "STATEMENT", "SET"):
        cursor.take("BEGIN")
    elif len(cursor.tokens) == 1:
        cursor.take("END")
    return cursor.current is None


def parse_statement(cursor: Cursor) -> Statement:
    """Return the statement.

    Raises:
        DocumentError: its syntax is wrong; with line and column.
    """
    where = cursor.place
    if cursor.take("SET"):
        return _setting(cursor)
    if cursor.take("CREATE"):
        return _create(cursor)
    if cursor.take("INSERT"):
        return _insert(cursor)
    if any(cursor.peek(word) for word in ("SELECT", "WITH", "VALUES", "(")):
        return _query(cursor, where)
    if (word := cursor.tokens[0].text.upper()) in _OF_THE_SHELL:
        hint = "use it in `headrace sql`; `headrace explain FILE` describes the steps of a script"
        cursor.fail(f"{word} is a statement of the shell, not of a script", hint)
    hint = "statements begin with CREATE, INSERT INTO, SELECT or SET"
    return cursor.fail(f"expected a statement, got `{cursor.tokens[0].text}`", hint)


def _query(cursor: Cursor, where: str) -> Query | Insert:
    """Return a query; `SELECT ... INTO sink FROM ...` of Azure Stream Analytics is an `INSERT`."""
    cursor.until("INTO")
    if cursor.current is None:
        return Query(tuple(cursor.tokens), where)
    before = cursor.tokens[: cursor.position]
    cursor.take("INTO")
    sink = placed(cursor, cursor.name("the name of a sink"))
    return Insert(sink, (), (*before, *cursor.tokens[cursor.position :]))


def placed(cursor: Cursor, token: Token) -> Placed:
    """Return the text of a token with its place."""
    return Placed(token.text, cursor.script.place(token))


def _setting(cursor: Cursor) -> Setting:
    name = cursor.next("the name of a setting", "such as SET 'name' = 'shop'")
    cursor.expect("=", "such as SET 'name' = 'shop'")
    value = cursor.next("the value of the setting")
    _expect_end(cursor)
    return Setting(placed(cursor, name), placed(cursor, value))


def is_function(cursor: Cursor) -> bool:
    """Return True if the statement is `CREATE FUNCTION`."""
    if not cursor.take("CREATE"):
        return False
    _skip_adjectives(cursor)
    return cursor.peek("FUNCTION")


def _skip_adjectives(cursor: Cursor) -> None:
    cursor.take("OR", "REPLACE")
    cursor.take("TEMPORARY")
    cursor.take("MATERIALIZED")


def _create(cursor: Cursor) -> Statement:
    _skip_adjectives(cursor)
    word = cursor.next("SOURCE, TABLE, VIEW, SINK or FUNCTION", _EXAMPLE)
    kind = word.text.upper()
    cursor.take("IF", "NOT", "EXISTS")
    if kind == "VIEW":
        name = placed(cursor, cursor.name("the name of the view"))
        columns = _names(cursor) if cursor.peek("(") else ()
        _skip_comment(cursor)
        cursor.expect("AS", "such as CREATE VIEW big AS SELECT * FROM tx WHERE amount > 50")
        return CreateView(name, _rest(cursor), columns)
    if kind == "FUNCTION":
        name = placed(cursor, cursor.name("the name of the function"))
        cursor.expect("AS", "such as CREATE FUNCTION score AS 'module:function'")
        reference = placed(cursor, cursor.next("'module:function'"))
        if cursor.take("LANGUAGE") and not cursor.take("PYTHON"):
            got = cursor.next("PYTHON").text
            cursor.position -= 1
            cursor.fail(f"expected PYTHON, got `{got}`", "functions are written in Python")
        options = _options(cursor) if cursor.take("WITH") else {}
        _expect_end(cursor)
        return CreateFunction(name, reference, options)
    if kind not in _KINDS:
        cursor.position -= 1
        cursor.fail(f"expected SOURCE, TABLE, VIEW, SINK or FUNCTION, got `{word.text}`", _EXAMPLE)
    return _relation(cursor, _KINDS[kind])


def _relation(cursor: Cursor, kind: str) -> Create | CreateView:
    name = placed(cursor, cursor.name(f"the name of the {kind}"))
    columns: list[ColumnDefinition] = []
    watermark: Watermark | None = None
    key: tuple[Placed, ...] = ()
    if cursor.take("("):
        while not cursor.take(")"):
            if cursor.take("WATERMARK"):
                watermark = _watermark(cursor)
            elif cursor.peek("PRIMARY", "KEY") or cursor.peek("CONSTRAINT"):
                key = _primary_key(cursor)
            else:
                column, is_key = _column(cursor)
                columns.append(column)
                key = (*key, column.name) if is_key else key
            if not cursor.take(",") and not cursor.peek(")"):
                cursor.fail(f"expected , or ) after a column, got `{cursor.next(')').text}`")
    _skip_comment(cursor)
    options: dict[str, Placed] = {}
    if cursor.take("WITH"):
        options = _options(cursor)
    query: tuple[Token, ...] = ()
    if cursor.take("AS"):
        query = _rest(cursor)
    _expect_end(cursor)
    if query and not options and not columns and kind != "sink":  # ksqlDB
        return CreateView(name, query)
    if not options:
        cursor.fail(f"the {kind} `{name}` has no connector", "add WITH (connector = 'kafka', ...)")
    return Create(kind, name, tuple(columns), watermark, key, options, query)  # type: ignore[arg-type]


def _watermark(cursor: Cursor) -> Watermark:
    where = cursor.place
    cursor.expect("FOR", "such as WATERMARK FOR ts AS ts - INTERVAL '5' SECOND")
    column = placed(cursor, cursor.name("the column of the event time"))
    cursor.expect("AS", "such as WATERMARK FOR ts AS ts - INTERVAL '5' SECOND")
    return Watermark(column, tuple(cursor.until(",", ")")), where)


def _primary_key(cursor: Cursor) -> tuple[Placed, ...]:
    if cursor.take("CONSTRAINT"):
        cursor.name("the name of the constraint")
    if not cursor.take("PRIMARY", "KEY"):
        cursor.fail("expected PRIMARY KEY", "such as PRIMARY KEY (id)")
    names = _names(cursor)
    cursor.take("NOT", "ENFORCED")
    return names


def _column(cursor: Cursor) -> tuple[ColumnDefinition, bool]:
    name = placed(cursor, cursor.name("the name of a column"))
    words = cursor.until(",", ")", "AS", "NOT", "NULL", "PRIMARY KEY", "PRIMARY", "KEY", "COMMENT")
    written = cursor.text_of(words)
    if cursor.take("AS"):
        expression = cursor.until(",", ")")
        if not expression:
            cursor.fail(f"the expression of `{name}` is missing", f"such as {name} AS upper(country)")
        text = Placed(cursor.text_of(expression), cursor.script.place(expression[0]))
        return ColumnDefinition(name, written, text), False
    if not words:
        cursor.fail(f"the type of column `{name}` is missing", f"such as {name} STRING")
    required = cursor.take("NOT", "NULL")
    cursor.take("NULL")
    is_key = cursor.take("PRIMARY", "KEY") or cursor.take("KEY")
    cursor.take("NOT", "ENFORCED")
    _skip_comment(cursor)
    return ColumnDefinition(name, written, required=required), is_key


def _skip_comment(cursor: Cursor) -> None:
    if cursor.take("COMMENT"):
        cursor.next("a comment")


def _options(cursor: Cursor) -> dict[str, Placed]:
    cursor.expect("(", "such as WITH (connector = 'kafka', topic = 'tx')")
    options: dict[str, Placed] = {}
    while not cursor.take(")"):
        first = cursor.next("the name of an option")
        parts = [first.text]
        while cursor.take("."):
            parts.append(cursor.next("the name of an option").text)
        name = ".".join(parts)
        cursor.expect("=", "such as WITH (connector = 'kafka', topic = 'tx')")
        value = cursor.until(",", ")")
        if not value:
            cursor.fail(f"the value of the option `{name}` is missing")
        text = value[0].text if len(value) == 1 else cursor.text_of(value)
        key = name.lower() if cursor.script.text[first.start] != "'" else name
        options[key] = Placed(text, cursor.script.place(value[0]))
        if not cursor.take(",") and not cursor.peek(")"):
            cursor.fail("expected , or ) after an option")
    return options


def _insert(cursor: Cursor) -> Insert:
    if cursor.peek("OVERWRITE"):
        cursor.fail("INSERT OVERWRITE needs the end of the input", "write INSERT INTO")
    cursor.expect("INTO", "such as INSERT INTO alerts SELECT ...")
    sink = placed(cursor, cursor.name("the name of a sink"))
    constants = _constants(cursor) if cursor.take("PARTITION") else {}
    in_query = any(cursor.peek("(", word) for word in ("SELECT", "WITH", "VALUES", "("))
    columns = _names(cursor) if cursor.peek("(") and not in_query else ()
    query, conflict = _split_conflict(cursor, _rest(cursor))
    return Insert(sink, columns, query, constants, conflict)


def _split_conflict(cursor: Cursor, query: tuple[Token, ...]) -> tuple[tuple[Token, ...], Placed | None]:
    """Return a query without `ON CONFLICT DO ...` after it, and the action for rows of one key."""
    words = [token.text.upper() for token in query]
    at = next((n for n in range(len(words)) if words[n : n + 2] == ["ON", "CONFLICT"]), None)
    if at is None:
        return query, None
    action = query[-1]
    if at == 0 or words[at + 2 : at + 3] != ["DO"] or len(words) != at + 4 or words[-1] not in _CONFLICTS:
        cursor.position = min(at + 3, len(words) - 1) + len(cursor.tokens) - len(query)
        actions = ", ".join(_CONFLICTS)
        cursor.fail(f"expected one of {actions} after ON CONFLICT DO", "such as ON CONFLICT DO NOTHING")
    return query[:at], Placed(action.text.upper(), cursor.script.place(action))


def _constants(cursor: Cursor) -> dict[str, Placed]:
    """Return the columns of `PARTITION (day = '1', hour)` that have a value."""
    hint = "such as PARTITION (day = '2026-01-01')"
    cursor.expect("(", hint)
    constants: dict[str, Placed] = {}
    while not cursor.take(")"):
        name = cursor.name("a column").text
        if cursor.take("="):
            words = cursor.until(",", ")")
            if not words:
                cursor.fail(f"the value of `{name}` is missing", hint)
            constants[name] = Placed(cursor.text_of(words), cursor.script.place(words[0]))
        if not cursor.take(",") and not cursor.peek(")"):
            cursor.fail("expected , or ) after a column", hint)
    return constants


def _names(cursor: Cursor) -> tuple[Placed, ...]:
    cursor.expect("(")
    names = [placed(cursor, cursor.name("a column"))]
    while cursor.take(","):
        names.append(placed(cursor, cursor.name("a column")))
    cursor.expect(")")
    return tuple(names)


def _rest(cursor: Cursor) -> tuple[Token, ...]:
    rest = tuple(cursor.tokens[cursor.position :])
    if not rest:
        cursor.fail("expected a query, got the end of the statement", "such as SELECT * FROM tx")
    cursor.position = len(cursor.tokens)
    return rest


def _expect_end(cursor: Cursor) -> None:
    if cursor.current is not None:
        cursor.fail(f"expected the end of the statement, got `{cursor.current.text}`", "end it with ;")
