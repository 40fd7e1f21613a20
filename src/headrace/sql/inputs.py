"""What a `MATCH_RECOGNIZE` is over: a stream by its name, or a query that chooses columns and rows of one.

Such a query is read off its tokens: it must be `select ... from <stream> where ...` and may neither group nor join, so that
rows keep their time and their place. It stands in place or in a WITH, and instead of the stream it may be over another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from headrace.sql.tokens import Reader, Token
from headrace.sql.withs import Definition

MORE = (
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
"""What a query that only chooses columns and rows doesn't hold."""
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
    over: Chosen | None = None
    """The query that this one is over, instead of the stream."""
    over_at: tuple[int, int] = (0, 0)
    """Where that one is called or stands in the text."""
    over_as: str = ""
    """What this one calls it, if the text doesn't say so behind it."""

    def outputs(self, columns: tuple[str, ...]) -> tuple[Output, ...]:
        """The columns that it gives, out of those of the stream.

        >>> Chosen("select *, a + 1 as b from s", 21, (None, ("b", None))).outputs(("a",))
        (('a', 'a'), ('b', None))
        """
        below = self.over.outputs(columns) if self.over else tuple((column, column) for column in columns)
        source = {name.lower(): column for name, column in below}
        found = [
            one
            for item in self.items
            for one in (below if item is None else [(item[0], source.get((item[1] or "").lower()))])
        ]
        if len(self.names) != len(found):
            return tuple(found)
        return tuple((name, source) for name, (_, source) in zip(self.names, found, strict=True))

    def selecting(self, more: list[str]) -> str:
        """The query, selecting these columns too. A star has them already.

        >>> inner = Chosen("select a from s", 9, (("a", "a"),))
        >>> Chosen("select * from t where a > 1", 9, (None,), over=inner, over_at=(14, 15), over_as="t").selecting(["p"])
        'select * from (select a , `p` from s) as `t` where a > 1'
        """
        text = self.text
        if self.over is not None:
            begin, end = self.over_at
            called = f" as {_quoted(self.over_as)}" if self.over_as else ""
            text = f"{text[:begin]}({self.over._renamed(more)}){called}{text[end:]}"
        if None in self.items or not more:
            return text
        listed = ", ".join(map(_quoted, more))
        return f"{text[: self.from_at]}, {listed} {text[self.from_at :]}"

    def _renamed(self, more: list[str]) -> str:
        """The query, its columns under the names that stand behind it."""
        if not self.names:
            return self.selecting(more)
        names = ", ".join(map(_quoted, [*self.names, *more]))
        return f"select * from ({self.selecting(more)}) as `t`({names})"


@dataclass(frozen=True)
class Input:
    """The stream's name, the query between if there is one, and the place of both in the statement."""

    table: str
    chosen: Chosen | None
    begin: int
    end: int
    defined: str = ""
    """The table of WITH that it is."""
    called: str = ""
    """What the query calls it: its alias, or its name."""


def read_input(reader: Reader, at: int, withs: Mapping[str, Definition]) -> Input:
    """What stands before the clause at a token, of the tables of WITH those that it can see.

    Raises:
        OptionError: it is no stream, nor a choice of one's columns and rows.
    """
    tokens, i = reader.tokens, at - 1
    names: tuple[str, ...] = ()
    if tokens[i].says(")") and (opened := _opening(tokens, i)) and not _is_query(tokens, opened):
        names = tuple(token.name for token in tokens[opened + 1 : i] if token.names)
        i = opened - 1
    alias = i >= 1 and tokens[i].names and not tokens[i - 1].says("FROM", ",")
    called = tokens[i].name if alias else ""
    if alias:
        i -= 2 if tokens[i - 1].says("AS") else 1
    if i >= 0 and tokens[i].says(")"):
        opened = _opening(tokens, i)
        inner = Reader(reader.statement, [*tokens[opened + 1 : i], _end(tokens[i])], reader.where)
        table, chosen = _query(inner, names, withs)
        return Input(table, chosen, tokens[opened].at, tokens[i].end, called=called)
    table_token = tokens[i] if i >= 0 else tokens[at]
    if not table_token.names or table_token.says("FROM") or (i and tokens[i - 1].says(".")):
        _refuse(reader, table_token)
    called = called or table_token.name
    if (defined := withs.get(table_token.name.lower())) is not None:
        table, chosen = _defined(reader, defined)
        chosen = replace(chosen, names=names or chosen.names)
        return Input(table, chosen, table_token.at, table_token.end, table_token.name, called)
    renamed = Chosen(f"select * from `{table_token.name}`", 9, (None,), names) if names else None
    return Input(table_token.name, renamed, table_token.at, table_token.end, called=called)


def _defined(reader: Reader, one: Definition) -> tuple[str, Chosen]:
    return _query(Reader(reader.statement, list(one.body), reader.where), one.names, one.before)


def _query(reader: Reader, names: tuple[str, ...], withs: Mapping[str, Definition]) -> tuple[str, Chosen]:
    begin = reader.now
    if not reader.takes("SELECT") or reader.now.says("DISTINCT"):
        _refuse(reader, begin)
    items = [_item(reader)]
    while reader.takes(","):
        items.append(_item(reader))
    place = reader.now
    if not reader.takes("FROM"):
        _refuse(reader, reader.now)
    source = reader.now
    table, over, called = _source(reader, withs)
    end = reader.tokens[reader.i - 1].end
    if over is not None and (reader.now.says("AS") or (reader.now.names and not reader.now.says("WHERE"))):
        called = ""
    while reader.now.kind != "end":
        if reader.now.says(",", *MORE):
            _refuse(reader, reader.now)
        if reader.take().says("(", "["):
            reader.inside()
    text = reader.statement[begin.at : reader.now.at]
    return table, Chosen(
        text, place.at - begin.at, tuple(items), names, over, (source.at - begin.at, end - begin.at), called
    )


def _source(reader: Reader, withs: Mapping[str, Definition]) -> tuple[str, Chosen | None, str]:
    """What a query is over: the stream at the bottom of it, the query between if there is one, and its name."""
    token = reader.take()
    if token.says("("):
        inside = reader.inside()
        table, over = _query(Reader(reader.statement, inside, reader.where), (), withs)
        return table, over, "t"
    if not token.names:
        _refuse(reader, token)
    if (defined := withs.get(token.name.lower())) is None:
        return token.name, None, ""
    table, over = _defined(reader, defined)
    if over.names and None in over.items:
        what = f"names for the columns of `{defined.name}`, which selects `*`"
        reader.refuse(token, what, "select the columns there, each AS its name")
    return table, over, token.name


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


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _end(close: Token) -> Token:
    return Token("end", "", close.at, close.at)


def _refuse(reader: Reader, token: Token) -> NoReturn:
    reader.refuse(
        token, f"MATCH_RECOGNIZE is over a stream, or a choice of one's columns and rows, got {token}", _HINT
    )
