"""Parse the input of a `MATCH_RECOGNIZE`: a stream, or a query that selects columns and rows of a stream.

Such a query, a subquery or common table expression, has the form `select ... from <stream> where ...` without
groups or joins, so that rows keep their event time and position. It can read another such query.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from headrace.sql.match_recognize.ctes import Definition
from headrace.sql.match_recognize.tokens import Token, TokenReader

NOT_ALLOWED = (
    "JOIN", "GROUP", "HAVING", "UNION", "INTERSECT", "EXCEPT", "ORDER", "LIMIT", "LATERAL", "WINDOW",
    "CLUSTER", "SORT",
)  # fmt: skip
"""Keywords that are not allowed in an input query."""
_HINT = "move the input query to a separate step, then write FROM <step> MATCH_RECOGNIZE (...)"

Output = tuple[str, str | None]
"""A column and the column of the stream that it renames; None if it is computed."""


@dataclass(frozen=True)
class InputQuery:
    """A query between the stream and the clause, with the column names of its alias."""

    text: str
    from_at: int
    """Position of FROM in the text."""
    items: tuple[Output | None, ...]
    """The selected columns; None is a star."""
    names: tuple[str, ...] = ()
    inner: InputQuery | None = None
    """The query that this one reads instead of the stream."""
    inner_at: tuple[int, int] = (0, 0)
    """The range of that query, or of its name, in the text."""
    inner_alias: str = ""
    """The alias of that query, if the text has none."""

    def outputs(self, columns: tuple[str, ...]) -> tuple[Output, ...]:
        """Return the output columns for the columns of the stream.

        >>> InputQuery("select *, a + 1 as b from s", 21, (None, ("b", None))).outputs(("a",))
        (('a', 'a'), ('b', None))
        """
        inputs = self.inner.outputs(columns) if self.inner else tuple((column, column) for column in columns)
        source = {name.lower(): column for name, column in inputs}
        selected = [
            output
            for item in self.items
            for output in (inputs if item is None else [(item[0], source.get((item[1] or "").lower()))])
        ]
        if len(self.names) != len(selected):
            return tuple(selected)
        return tuple((name, source) for name, (_, source) in zip(self.names, selected, strict=True))

    def to_sql(self, more: list[str]) -> str:
        """Return the query with these columns added to its select list, unless it selects a star.

        >>> inner = InputQuery("select a from s", 9, (("a", "a"),))
        >>> outer = InputQuery("select * from t where a > 1", 9, (None,), (), inner, (14, 15), "t")
        >>> outer.to_sql(["p"])
        'select * from (select a , `p` from s) as `t` where a > 1'
        """
        text = self.text
        if self.inner is not None:
            begin, end = self.inner_at
            alias = f" as {_quote(self.inner_alias)}" if self.inner_alias else ""
            text = f"{text[:begin]}({self.inner._with_names(more)}){alias}{text[end:]}"
        if None in self.items or not more:
            return text
        listed = ", ".join(map(_quote, more))
        return f"{text[: self.from_at]}, {listed} {text[self.from_at :]}"

    def _with_names(self, more: list[str]) -> str:
        """Return the query with its columns renamed to the names of its alias."""
        if not self.names:
            return self.to_sql(more)
        names = ", ".join(map(_quote, [*self.names, *more]))
        return f"select * from ({self.to_sql(more)}) as `t`({names})"


@dataclass(frozen=True)
class Input:
    """The stream, the query between stream and clause, and the position of both in the statement."""

    table: str
    input_query: InputQuery | None
    begin: int
    end: int
    cte: str = ""
    """The common table expression that is read."""
    alias: str = ""
    """The alias of the input, or the name of its table; empty for a subquery without an alias."""


def read_input(reader: TokenReader, at: int, ctes: Mapping[str, Definition]) -> Input:
    """Read the input in front of the clause at token `at`; `ctes` are the visible common table expressions.

    Raises:
        OptionError: the input is neither a stream nor a selection of its columns and rows.
    """
    tokens, i = reader.tokens, at - 1
    names: tuple[str, ...] = ()
    if tokens[i].matches(")") and (opened := _opening(tokens, i)) and not _is_query(tokens, opened):
        names = tuple(token.name for token in tokens[opened + 1 : i] if token.names)
        i = opened - 1
    has_alias = i >= 1 and tokens[i].names and not tokens[i - 1].matches("FROM", ",")
    alias = tokens[i].name if has_alias else ""
    if has_alias:
        i -= 2 if tokens[i - 1].matches("AS") else 1
    if i >= 0 and tokens[i].matches(")"):
        opened = _opening(tokens, i)
        inside = TokenReader(reader.statement, [*tokens[opened + 1 : i], _end(tokens[i])], reader.where)
        table, input_query = _query(inside, names, ctes)
        return Input(table, input_query, tokens[opened].at, tokens[i].end, alias=alias)
    table_token = tokens[i] if i >= 0 else tokens[at]
    if not table_token.names or table_token.matches("FROM") or (i and tokens[i - 1].matches(".")):
        _fail(reader, table_token)
    alias = alias or table_token.name
    if (cte := ctes.get(table_token.name.lower())) is not None:
        table, input_query = _read_definition(reader, cte)
        input_query = replace(input_query, names=names or input_query.names)
        return Input(table, input_query, table_token.at, table_token.end, table_token.name, alias)
    renamed = InputQuery(f"select * from `{table_token.name}`", 9, (None,), names) if names else None
    return Input(table_token.name, renamed, table_token.at, table_token.end, alias=alias)


def _read_definition(reader: TokenReader, definition: Definition) -> tuple[str, InputQuery]:
    return _query(
        TokenReader(reader.statement, list(definition.body), reader.where),
        definition.names,
        definition.before,
    )


def _query(
    reader: TokenReader, names: tuple[str, ...], ctes: Mapping[str, Definition]
) -> tuple[str, InputQuery]:
    begin = reader.current
    if not reader.accept("SELECT") or reader.current.matches("DISTINCT"):
        _fail(reader, begin)
    items = [_item(reader)]
    while reader.accept(","):
        items.append(_item(reader))
    place = reader.current
    if not reader.accept("FROM"):
        _fail(reader, reader.current)
    source = reader.current
    table, inner, alias = _source(reader, ctes)
    end = reader.tokens[reader.i - 1].end
    if inner is not None and (
        reader.current.matches("AS") or (reader.current.names and not reader.current.matches("WHERE"))
    ):
        alias = ""
    while reader.current.kind != "end":
        if reader.current.matches(",", *NOT_ALLOWED):
            _fail(reader, reader.current)
        reader.skip_part()
    text = reader.statement[begin.at : reader.current.at]
    return table, InputQuery(
        text, place.at - begin.at, tuple(items), names, inner, (source.at - begin.at, end - begin.at), alias
    )


def _source(reader: TokenReader, ctes: Mapping[str, Definition]) -> tuple[str, InputQuery | None, str]:
    """Read the FROM of a query: the stream, the inner query if there is one, and its alias."""
    token = reader.advance()
    if token.matches("("):
        inside = reader.read_bracketed()
        table, inner = _query(TokenReader(reader.statement, inside, reader.where), (), ctes)
        return table, inner, "t"
    if not token.names:
        _fail(reader, token)
    if (cte := ctes.get(token.name.lower())) is None:
        return token.name, None, ""
    table, inner = _read_definition(reader, cte)
    if inner.names and None in inner.items:
        what = f"`{cte.name}` has column names, but selects `*`"
        reader.fail(token, what, "select the columns, each AS its name")
    return table, inner, token.name


def _item(reader: TokenReader) -> Output | None:
    item: list[Token] = []
    while reader.current.kind != "end" and not reader.current.matches(",", "FROM"):
        item.append(reader.advance())
        if item[-1].matches("(", "["):
            reader.read_bracketed()
    if not item:
        _fail(reader, reader.current)
    if item[-1].matches("*"):
        return None
    named = len(item) > 1 and item[-1].names and (item[-2].matches("AS", "(", "[") or item[-2].kind != "sign")
    source = [token for token in item[:-1] if not token.matches("AS")] if named else item
    plain = source[-1].names and (len(source) == 1 or [token.text for token in source[1:-1]] == ["."])
    column = source[-1].name if plain else None
    return item[-1].name if named else column or reader.statement[
        item[0].at : reader.current.at
    ].strip(), column


def _opening(tokens: list[Token], close: int) -> int:
    """Return the index of the matching opening bracket."""
    depth, i = 0, close
    while i > 0:
        depth += 1 if tokens[i].matches(")") else -1 if tokens[i].matches("(") else 0
        if not depth:
            break
        i -= 1
    return i


def _is_query(tokens: list[Token], opened: int) -> bool:
    return tokens[opened + 1].matches("SELECT", "WITH", "VALUES", "(")


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _end(close: Token) -> Token:
    return Token("end", "", close.at, close.at)


def _fail(reader: TokenReader, token: Token) -> NoReturn:
    reader.fail(token, f"expected a stream, or a query that selects its columns and rows, got {token}", _HINT)
