"""Completes statements: keywords, relations, columns, functions, connectors and their options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal, get_args, get_origin

from headrace.cli.shell.parsing import SHOWN
from headrace.cli.shell.session import SETTINGS, Session, columns_of
from headrace.cli.shell.shell import COMMANDS
from headrace.connectors import registry
from headrace.connectors.base import Role
from headrace.errors import HeadraceError
from headrace.sql.functions import spark_functions

STARTS = ("CREATE", "DESCRIBE", "DROP", "EXPLAIN", "INSERT INTO", "SELECT", "SET", "SHOW", "WITH")
KINDS = ("FUNCTION", "MATERIALIZED VIEW", "OR REPLACE", "SINK", "SOURCE", "TABLE", "VIEW")
KEYWORDS = (
    "ACCUMULATING", "AND", "AS", "ASC", "BETWEEN", "CASE", "CROSS JOIN", "DESC", "DESCRIPTOR",
    "DISCARDING", "DISTINCT", "ELSE", "EMIT CHANGES", "EMIT EARLY EVERY", "EMIT ON WINDOW CLOSE", "END",
    "FROM", "FOR SYSTEM_TIME AS OF", "FULL JOIN", "GROUP BY", "HAVING", "HOP", "IN", "INTERVAL",
    "IS NOT NULL", "IS NULL", "JOIN", "LATENESS", "LEFT JOIN", "LIKE", "LIMIT", "MATCH_RECOGNIZE",
    "NOT", "ON", "OR", "ORDER BY", "OVER", "PARTITION BY", "PRIMARY KEY", "PROCTIME()", "RANGE",
    "RETRACTING", "RIGHT JOIN", "ROWS", "SELECT", "SESSION", "TABLE", "THEN", "TUMBLE", "UNION ALL",
    "UNNEST", "WATERMARK FOR", "WHEN", "WHERE", "WITH",
)  # fmt: skip
_WORD = re.compile(r"[\\\w]*$")
_OPTION = re.compile(r"\bwith\s*\(([^()]*)$", re.IGNORECASE)
_CONNECTOR = re.compile(r"\bconnector'?\s*=\s*'(\w+)'", re.IGNORECASE)
_VALUE = re.compile(r"([\w.]+)'?\s*=\s*'(\w*)$")
_RELATION_NEXT = re.compile(r"\b(?:from|join|table|describe|desc)\s+\w*$", re.IGNORECASE)
_ROLE = re.compile(r"\bcreate\s+(?:or\s+replace\s+)?(source|stream|table|sink)\b", re.IGNORECASE)
_READS = re.compile(r"\b(?:from|join|table)\s+([A-Za-z_]\w*)(?:\s+(?:as\s+)?([A-Za-z_]\w*))?", re.IGNORECASE)
_COMMON = ("connector", "format", "on_error")


def complete(text: str, session: Session) -> tuple[str, list[str]]:
    r"""Return the word before the cursor and what it can be completed to.

    >>> complete("SHOW SOU", Session())
    ('SOU', ['SOURCES'])
    >>> complete("CREATE SINK s WITH (connector = 'ka", Session())
    ('ka', ['kafka'])
    >>> complete("\\qu", Session())
    ('\\qu', ['\\quit'])
    """
    match = _WORD.search(text)
    word = match[0] if match else ""
    candidates = dict.fromkeys(_candidates(text, word, session))
    return word, [each for each in candidates if each.lower().startswith(word.lower()) and each != word]


def _candidates(text: str, word: str, session: Session) -> Iterator[str]:
    before = text[: len(text) - len(word)]
    if word.startswith("\\"):
        yield from COMMANDS if not before.strip() else ()
    elif options := _OPTION.search(text):
        yield from _of_options(text, options[1])
    elif (start := _first_words(before)) is not None:
        yield from start
    elif re.search(r"\binto\s+$", before, re.IGNORECASE):
        yield from (each.name for each in session.declared("sink"))
    elif before.endswith("."):
        yield from _of_qualifier(text, before, session)
    elif _RELATION_NEXT.search(text):
        yield from (each.name for each in session.declared("source", "table", "view"))
        yield from ("TUMBLE", "HOP", "SESSION", "CUMULATE") if not before.lower().endswith("table ") else ()
    else:
        yield from _of_query(text, word, session)


def _first_words(before: str) -> Iterable[str] | None:
    """Return the words that may begin or continue a statement; None after its first words."""
    statement = before.rpartition(";")[2].strip().upper()
    named = re.fullmatch(r"DROP( \w+)?", statement)
    if not statement or statement == "EXPLAIN":
        return STARTS
    if re.fullmatch(r"CREATE( OR REPLACE)?", statement):
        return KINDS
    if statement == "SHOW":
        return tuple(SHOWN)
    if statement == "SET":
        return tuple(f"'{name}'" for name in SETTINGS)
    if named is not None and not named[1]:
        return tuple(kind for kind in KINDS if " " not in kind)
    return None


def _of_options(text: str, written: str) -> Iterator[str]:
    """Yield the options of the connector, or the values of the option before the cursor."""
    role = _role_of(text)
    kind = _CONNECTOR.search(written)
    if value := _VALUE.search(written):
        if value[1].lower() == "connector":
            yield from _connectors(role)
        elif kind is not None:
            yield from _choices(kind[1], value[1])
        return
    if written.rstrip().endswith("="):
        yield from ()
    elif kind is None:
        yield "connector"
    else:
        taken = {name.lower() for name in re.findall(r"([\w.]+)'?\s*=", written)}
        yield from (name for name in _options(kind[1], role) if name not in taken)


def _role_of(text: str) -> Role:
    matches = _ROLE.findall(text)
    return "sink" if matches and matches[-1].lower() == "sink" else "source"


@cache
def _connectors(role: Role) -> tuple[str, ...]:
    roles = {"sink"} if role == "sink" else {"source", "table"}
    return tuple(kind for kind in registry.kinds() if _roles(kind) & roles)


def _roles(kind: str) -> frozenset[Role]:
    try:
        return registry.connector(kind).roles
    except (HeadraceError, ImportError):  # its package is not installed
        return frozenset()


@cache
def _options(kind: str, role: Role) -> tuple[str, ...]:
    try:
        fields = registry.connector(kind).model_fields
    except (HeadraceError, ImportError):
        return ()
    names = [field.alias or name for name, field in fields.items()]
    return tuple(dict.fromkeys([*names, *(_COMMON[1:] if role == "source" else ())]))


def _choices(kind: str, option: str) -> tuple[str, ...]:
    """Return the words that an option accepts."""
    try:
        field = registry.connector(kind).model_fields.get(option)
    except (HeadraceError, ImportError):
        return ()
    if option == "format":
        return ("avro", "csv", "json", "protobuf", "raw", "text")
    return tuple(_words(field.annotation)) if field is not None else ()


def _words(annotation: object) -> Iterator[str]:
    if get_origin(annotation) is Literal:
        yield from (value for value in get_args(annotation) if isinstance(value, str))
    else:
        for part in get_args(annotation):
            yield from _words(part)


def _of_qualifier(text: str, before: str, session: Session) -> Iterator[str]:
    """Yield the columns of a relation or an alias, and its side outputs after FROM."""
    qualifier = before.rstrip(".").rpartition(" ")[2].rpartition("(")[2].rpartition(",")[2].lower()
    aliases = {alias.lower(): name.lower() for name, alias in _READS.findall(text) if alias}
    name = aliases.get(qualifier, qualifier)
    declared = session.relations()
    relation = declared.relations.get(name)
    if relation is None:
        return
    if _RELATION_NEXT.search(before.rstrip(".")):
        yield from relation.side_outputs
    else:
        yield from columns_of(relation, declared.graph)


def _of_query(text: str, word: str, session: Session) -> Iterator[str]:
    """Yield columns of the relations that the statement reads, then keywords and functions."""
    statement = text.rpartition(";")[2]
    declared = session.relations()
    read = {name.lower() for name, _ in _READS.findall(statement)} & set(declared.relations)
    for name in read or declared.relations:
        yield from columns_of(declared.relations[name], declared.graph)
    if word:
        yield from KEYWORDS
        yield from spark_functions()
