"""What a `MATCH_RECOGNIZE` is over: a stream by its name, or a query that chooses columns and rows of one.

Such a query is read off its tokens: it must be `select ... from <stream> where ...` and may neither group nor join, so that
rows keep their time and their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from headrace.sql.tokens import Reader, Token

_MORE = (
    "JOIN",
    "GROUP",
    "HAVING",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "ORDER",
    "LIMIT",
    "LATERAL",
    "WINDOW",
    "CLUSTER",
    "SORT",
)
_HINT = "make what stands there a step of its own, then write FROM <step> MATCH_RECOGNIZE (...)"

Output = tuple[str, str | None]
"""A column, and the one of the stream that it is, under whichever name; None where it is computed."""


@dataclass(frozen=True)
class Chosen:
    """A query between the stream and the clause: its text, and the names that it gives its columns behind it."""

    text: str
    from_at: int
    """Where FROM stands in the text."""
    items: tuple[Output | None, ...]
    """What it selects; None is a star."""
    names: tuple[str, ...] = ()

    def outputs(self, columns: tuple[str, ...]) -> tuple[Output, ...]:
        """The columns that it gives, out of those of the stream.

        >>> Chosen("select *, a + 1 as b from s", 21, (None, ("b", None))).outputs(("a",))
        (('a', 'a'), ('b', None))
        """
        found = [
            one for item in self.items for one in ([(c, c) for c in columns] if item is None else [item])
        ]
        if len(self.names) != len(found):
            return tuple(found)
        return tuple((name, source) for name, (_, source) in zip(self.names, found, strict=True))

    def selecting(self, more: list[str]) -> str:
        """The query, selecting these columns too. A star has them already."""
        if None in self.items or not more:
            return self.text
        listed = ", ".join(f"`{name}`" for name in more)
        return f"{self.text[: self.from_at]}, {listed} {self.text[self.from_at :]}"


@dataclass(frozen=True)
class Input:
    """The stream's name, the query between if there is one, and the place of both in the statement."""

    table: str
    chosen: Chosen | None
    begin: int
    end: int


def read_input(reader: Reader, at: int) -> Input:
    """What stands before the clause at a token.

    Raises:
        OptionError: it is no stream, nor a choice of one's columns and rows.
    """
    tokens, i = reader.tokens, at - 1
    names: tuple[str, ...] = ()
    if tokens[i].says(")") and (opened := _opening(tokens, i)) and not _is_query(tokens, opened):
        names = tuple(token.name for token in tokens[opened + 1 : i] if token.names)
        i = opened - 1
    alias = i >= 1 and tokens[i].names and not tokens[i - 1].says("FROM", ",")
    if alias:
        i -= 2 if tokens[i - 1].says("AS") else 1
    if i >= 0 and tokens[i].says(")"):
        opened = _opening(tokens, i)
        inner = Reader(reader.statement, [*tokens[opened + 1 : i], _end(tokens[i])], reader.where)
        table, chosen = _query(inner, names)
        return Input(table, chosen, tokens[opened].at, tokens[i].end)
    table_token = tokens[i] if i >= 0 else tokens[at]
    if not table_token.names or table_token.says("FROM") or (i and tokens[i - 1].says(".")):
        _refuse(reader, table_token)
    renamed = Chosen(f"select * from `{table_token.name}`", 9, (None,), names) if names else None
    return Input(table_token.name, renamed, table_token.at, table_token.end)


def _query(reader: Reader, names: tuple[str, ...]) -> tuple[str, Chosen]:
    begin = reader.now
    if not reader.takes("SELECT") or reader.now.says("DISTINCT"):
        _refuse(reader, begin)
    items = [_item(reader)]
    while reader.takes(","):
        items.append(_item(reader))
    place = reader.now
    if not reader.takes("FROM") or not reader.now.names:
        _refuse(reader, reader.now)
    table = reader.take()
    while reader.now.kind != "end":
        if reader.now.says(",", *_MORE):
            _refuse(reader, reader.now)
        if reader.take().says("(", "["):
            reader.inside()
    text = reader.statement[begin.at : reader.now.at]
    return table.name, Chosen(text, place.at - begin.at, tuple(items), names)


def _item(reader: Reader) -> Output | None:
    found: list[Token] = []
    while reader.now.kind != "end" and not reader.now.says(",", "FROM"):
        found.append(reader.take())
        if found[-1].says("(", "["):
            reader.inside()
    if not found:
        _refuse(reader, reader.now)
    if found[-1].says("*"):
        return None
    named = (
        len(found) > 1 and found[-1].names and (found[-2].says("AS", "(", "[") or found[-2].kind != "sign")
    )
    source = [token for token in found[:-1] if not token.says("AS")] if named else found
    plain = source[-1].names and (len(source) == 1 or [token.text for token in source[1:-1]] == ["."])
    column = source[-1].name if plain else None
    return found[-1].name if named else column or reader.statement[
        found[0].at : reader.now.at
    ].strip(), column


def _opening(tokens: list[Token], close: int) -> int:
    """The place of the bracket that a closing one closes."""
    depth, i = 0, close
    while i > 0:
        depth += 1 if tokens[i].says(")") else -1 if tokens[i].says("(") else 0
        if not depth:
            break
        i -= 1
    return i


def _is_query(tokens: list[Token], opened: int) -> bool:
    return tokens[opened + 1].says("SELECT", "WITH", "VALUES", "(")


def _end(close: Token) -> Token:
    return Token("end", "", close.at, close.at)


def _refuse(reader: Reader, token: Token) -> NoReturn:
    reader.refuse(
        token, f"MATCH_RECOGNIZE is over a stream, or a choice of one's columns and rows, got {token}", _HINT
    )
