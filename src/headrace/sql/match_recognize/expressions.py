"""Parse conditions and measures of a `MATCH_RECOGNIZE` into Spark SQL over values.

`B.price < PREV(B.price)` becomes `__v0 < __v1` and two values: the price of the last row of B, and of the row
before it. The rest of the text is passed to Spark unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from headrace.errors import did_you_mean
from headrace.sql.match_recognize.aggregates import OTHER_NAMES, compose_call, is_aggregate
from headrace.sql.match_recognize.pattern import canonical
from headrace.sql.match_recognize.tokens import Token, TokenReader, tokens_of
from headrace.sql.match_recognize.values import (
    CLASSIFIER,
    NUMBER,
    Aggregation,
    ExpressionTemplate,
    Labels,
    MatchNumber,
    Navigation,
    Subquery,
    Text,
    Value,
)

Place = Literal["DEFINE", "MEASURES"]
MAX_OFFSET = 2**31 - 1
"""The largest offset of FIRST, LAST, PREV and NEXT."""
_QUERY = ("SELECT", "WITH", "VALUES")
_KEY_WORDS = "CASE WHEN THEN ELSE END AND OR NOT IN IS NULL LIKE BETWEEN DISTINCT"
_RESERVED = tuple(_KEY_WORDS.split())
"""Words that are columns only in backticks."""


@dataclass(frozen=True)
class Scope:
    """The names in scope: variables, subsets and, if known, the columns of the input."""

    statement: str
    variables: Mapping[str, Labels]
    place: Place
    columns: Collection[str] | None = None
    where: str = ""


def parse_expression(written: Text, scope: Scope) -> ExpressionTemplate:
    """Parse an expression of DEFINE or MEASURES.

    Raises:
        OptionError: the expression is not valid in a match; with line and column.
    """
    tokens = tokens_of(scope.statement, written.at, written.at + len(written.text))
    scanner = _Scanner(scope, tokens)
    text = scanner.outer(len(tokens) - 1)
    return ExpressionTemplate(text, tuple(scanner.values), tuple(scanner.subqueries))


@dataclass
class _Row:
    """An expression on one row while it is parsed: its text and its variables."""

    pieces: list[str] = field(default_factory=list)
    labels: Labels | None = None
    has_reference: bool = False
    """True if it refers to a column or the classifier."""


class _Scanner(TokenReader):
    def __init__(self, scope: Scope, tokens: list[Token]) -> None:
        super().__init__(scope.statement, tokens, scope.where)
        self.scope = scope
        self.columns = {name.lower() for name in scope.columns or ()}
        self.values: list[Value] = []
        self.subqueries: list[Subquery] = []
        self.brackets: list[str] = []
        self.lambdas = _lambdas(tokens)

    def outer(self, stop: int) -> str:
        """Parse an expression outside of navigations and aggregates."""
        pieces: list[str] = []
        while self.i < stop:
            pieces.append(self._outer_piece())
        return " ".join(pieces)

    def _outer_piece(self) -> str:
        token = self.current
        mode = self._mode()
        value = self._parse_call(mode) if self._is_call(0) else None
        if value is not None:
            return self._placeholder(value)
        if mode:
            what = f"{mode} is allowed only before FIRST, LAST and aggregates"
            self.fail(token, what, f"write {mode} LAST(A.price)")
        label = self._qualifier()
        if label is not None:
            return self._placeholder(Navigation(self._path(2), self._variables(label)))
        if self._is_column():
            return self._placeholder(Navigation(self._path(0)))
        return self._verbatim()

    def _parse_call(self, mode: str) -> Value | None:
        """Parse a navigation or aggregate call; None if it is an ordinary function."""
        name = self.current.name.lower()
        if name in ("prev", "next", "first", "last"):
            return self._navigation(mode)
        if name == "match_number":
            self._empty_call()
            return MatchNumber()
        if name == "classifier":
            return Navigation(CLASSIFIER, self._classifier(), final=mode == "FINAL")
        return self._aggregation(mode) if self._is_aggregate(name) else None

    def _navigation(self, mode: str) -> Navigation:
        """Parse PREV, NEXT, FIRST or LAST; only PREV and NEXT may enclose FIRST or LAST."""
        call = self.advance()
        name = call.name.upper()
        if name in ("FIRST", "LAST"):
            return self._logical(call, mode)
        if mode:
            self.fail(call, f"{mode} is not allowed for {name}", f"write {name}({mode} LAST(...))")
        self.advance()
        inner = self._has_mode()
        if self._is_call(1 if inner else 0) and self.peek(1 if inner else 0).name.lower() in (
            "first",
            "last",
        ):
            mode = self._mode()
            value = self._logical(self.advance(), mode)
        else:
            value = self._on_row(call)
        steps = self._offset(call, default=1)
        self._close(call)
        return replace(value, shift=-steps if name == "PREV" else steps)

    def _logical(self, call: Token, mode: str) -> Navigation:
        self._check_mode(call, mode)
        self.advance()
        value = self._on_row(call)
        skip = self._offset(call, default=0)
        self._close(call)
        return replace(value, last=call.matches("LAST"), skip=skip, final=mode == "FINAL")

    def _check_mode(self, call: Token, mode: str) -> None:
        if mode == "FINAL" and self.scope.place == "DEFINE":
            what = "FINAL is not allowed in DEFINE, where the match is not complete"
            self.fail(call, what, "leave FINAL out")

    def _on_row(self, call: Token) -> Navigation:
        row = _Row()
        self._row(row, call, stop=(",", ")"))
        if not row.has_reference and self.scope.columns is not None:
            what = f"{call.name.upper()} has no column"
            self.fail(call, what, "add one: LAST(A.price), LAST(CLASSIFIER())")
        return Navigation(" ".join(row.pieces), row.labels or ())

    def _offset(self, call: Token, default: int) -> int:
        if not self.current.matches(","):
            return default
        self.advance()
        token = self.advance()
        if token.kind != "number" or not token.text.isdecimal():
            self.fail(
                token, f"expected a number of rows as the second argument of {call.name.upper()}, got {token}"
            )
        if int(token.text) > MAX_OFFSET:
            self.fail(token, f"expected at most {MAX_OFFSET:,} rows, got {token}")
        return int(token.text)

    def _close(self, call: Token) -> None:
        if not self.current.matches(")"):
            self.fail(
                self.current, f"expected `)` after the arguments of {call.name.upper()}, got {self.current}"
            )
        self.advance()

    def _aggregation(self, mode: str) -> Aggregation:
        call = self.advance()
        name = OTHER_NAMES.get(call.name.lower(), call.name)
        self._check_mode(call, mode)
        row = _Row()
        self._arguments(row, call)
        arguments, clauses = row.pieces, ""
        while self.current.matches("FILTER", "WITHIN"):
            row.pieces = []
            words = [self.advance().text]
            if self.current.matches("GROUP"):
                words.append(self.advance().text)
            self._arguments(row, call)
            clauses += f" {' '.join(words)} {' '.join(row.pieces)}"
        text = compose_call(name.lower(), _split(arguments), clauses)
        text = text or f"{name}{' '.join(arguments)}{clauses}"
        if self.current.matches("OVER"):
            what = f"OVER is not allowed after {name}"
            self.fail(self.current, what, "an aggregate is over rows of the match")
        return Aggregation(text, row.labels or (), mode == "FINAL")

    def _arguments(self, row: _Row, call: Token) -> None:
        """Parse the bracket after the name of a function."""
        self.advance()
        row.pieces.append("(")
        if self.current.matches(")") and call.name.lower() == "count":
            row.pieces.append("*")
        label = self._qualifier()
        if label is not None and self.peek(2).matches("*"):
            row.labels = self._variables(label)
            self.i += 3
            row.pieces.append("*")
        self._row(row, call, stop=(")",))
        self._close(call)
        row.pieces.append(")")

    def _row(self, row: _Row, call: Token, stop: tuple[str, ...]) -> None:
        """Parse an expression on one row up to a terminating sign."""
        depth, outer_brackets = 0, len(self.brackets)
        while depth or len(self.brackets) > outer_brackets or not self.current.matches(*stop):
            token = self.current
            if token.kind == "end":
                self.fail(call, f"`(` after {call.name} is never closed", "add `)`")
            row.pieces.append(self._row_piece(row, call))
            if self.tokens[self.i - 1] is token:
                depth += 1 if token.matches("(") else -1 if token.matches(")") else 0

    def _row_piece(self, row: _Row, call: Token) -> str:
        token = self.current
        if self._has_mode() or (self._is_call(0) and self._cannot_nest(token.name.lower())):
            what = f"{token.name.upper()} is not allowed inside {call.name.upper()}"
            self.fail(token, what, "PREV or NEXT can enclose FIRST or LAST, such as PREV(LAST(A.price))")
        if self._is_call(0) and token.name.lower() == "classifier":
            row.has_reference = True
            self._set_labels(row, self._classifier(), token, call)
            return CLASSIFIER
        if self._is_call(0) and token.name.lower() == "match_number":
            row.has_reference = True
            self._empty_call()
            return NUMBER
        label = self._qualifier()
        if label is not None:
            row.has_reference = True
            self._set_labels(row, self._variables(label), token, call)
            return self._path(2)
        if self._is_column():
            row.has_reference = True
            self._set_labels(row, (), token, call)
            return self._path(0)
        return self._verbatim()

    def _cannot_nest(self, name: str) -> bool:
        return name in ("prev", "next", "first", "last") or self._is_aggregate(name)

    def _set_labels(self, row: _Row, labels: Labels, token: Token, call: Token) -> None:
        if row.labels is not None and row.labels != labels:
            names = f"{_format_labels(row.labels)} and of {_format_labels(labels)}"
            what = f"{call.name.upper()} refers to rows of {names}"
            self.fail(token, what, "use one call per variable")
        row.labels = labels

    def _classifier(self) -> Labels:
        call = self.advance()
        self.advance()
        if self.current.matches(")"):
            self.advance()
            return ()
        labels = self._variables(self.advance())
        self._close(call)
        return labels

    def _empty_call(self) -> None:
        call = self.advance()
        self.advance()
        if not self.current.matches(")"):
            self.fail(self.current, f"{call.name.upper()}() has no arguments, got {self.current}")
        self.advance()

    def _placeholder(self, value: Value) -> str:
        if value not in self.values:
            self.values.append(value)
        return f"__v{self.values.index(value)}"

    def _has_mode(self) -> bool:
        return self.current.matches("RUNNING", "FINAL") and self.peek(1).names and self.peek(2).matches("(")

    def _mode(self) -> str:
        return self.advance().text.upper() if self._has_mode() else ""

    def _is_call(self, n: int) -> bool:
        return self.peek(n).names and self.peek(n + 1).matches("(")

    def _is_aggregate(self, name: str) -> bool:
        compares = self.i > 0 and self.tokens[self.i - 1].matches("LIKE", "ILIKE")  # x like any ('a%', 'b%')
        return is_aggregate(name) and not compares

    def _qualifier(self) -> Token | None:
        """Return the variable that qualifies the next column, if there is one."""
        token, after = self.current, self.peek(2)
        if not self.peek(1).matches(".") or not (after.names or after.matches("*")):
            return None
        if self.i and self.tokens[self.i - 1].matches("."):
            return None
        quoted = token.text.startswith('"')
        if (not token.names and not quoted) or token.text in self.lambdas:
            return None
        if canonical(token) in self.scope.variables:
            return token
        if quoted or (self.scope.columns is not None and token.name.lower() not in self.columns):
            self._variables(token)
        return None

    def _variables(self, token: Token) -> Labels:
        name = canonical(token)
        if name not in self.scope.variables:
            known = {*self.scope.variables, *(self.scope.columns or ())}
            self.fail(token, f"unknown pattern variable `{name}`", did_you_mean(name, known))
        return self.scope.variables[name]

    def _is_column(self) -> bool:
        token = self.current
        if not token.names or token.name.lower() not in self.columns or self.peek(1).matches("("):
            return False
        if token.matches(*_RESERVED):
            return False
        before = self.tokens[self.i - 1] if self.i else None
        if before is not None and before.matches(".", "AS"):
            return False
        follows = self.peek(1)
        literal = token.kind == "word" and follows.kind == "text"  # date '2026-01-01'
        unit = token.kind == "word" and before is not None and before.kind in ("number", "text")
        return not literal and not unit and token.text not in self.lambdas

    def _path(self, skip: int) -> str:
        """Parse a column and its fields, without `skip` tokens of qualification."""
        self.i += skip
        begin = self.advance()
        while self.current.matches(".") and self.peek(1).names:
            self.i += 2
        return self.text_since(begin)

    def _verbatim(self) -> str:
        """Copy a token to the output; replace subqueries by placeholders and ARRAY[...] by array(...)."""
        token = self.advance()
        if token.matches("EXISTS") and self.current.matches("(") and self.peek(1).matches(*_QUERY):
            return self._subquery(self.advance(), "exists")
        if token.matches("(") and self.current.matches(*_QUERY):
            lists = self.i > 1 and self.tokens[self.i - 2].matches("IN")
            return self._subquery(token, "in" if lists else "scalar")
        if self.current.matches("[") and token.matches("ARRAY"):
            self.advance()
            self.brackets.append(")")
            return "array ("
        if self.current.matches("(") and self.peek(2).matches("[") and token.matches("MAP"):
            return "map_from_arrays"
        if token.matches("["):
            self.brackets.append("]")
        if token.matches("]") and self.brackets:
            return self.brackets.pop()
        plain = token.matches("VARCHAR") and not self.current.matches("(")
        return "string" if plain else token.text

    def _subquery(self, opened: Token, kind: str) -> str:
        depth = 1
        while depth:
            token = self.advance()
            if token.kind == "end":
                self.fail(opened, "`(` is never closed", "add `)`")
            depth += 1 if token.matches("(") else -1 if token.matches(")") else 0
        inner = self.scope.statement[opened.end : self.tokens[self.i - 1].at]
        self.subqueries.append(Subquery(kind, inner))
        return f"(__q{len(self.subqueries) - 1})"


def _lambdas(tokens: list[Token]) -> set[str]:
    """Return the arguments of lambda functions: `x -> x.price`, `(a, b) -> a + b`."""
    names: set[str] = set()
    for i, token in enumerate(tokens):
        if token.matches("->") and i:
            at = i - 1
            names.add(tokens[at].text)
            while tokens[i - 1].matches(")") and at and not tokens[at].matches("("):
                at -= 1
                names.add(tokens[at].text)
    return names


def _split(call: list[str]) -> list[str]:
    """Return the arguments of a call."""
    parts, depth = [""], 0
    for piece in call[1:-1]:
        depth += 1 if piece.endswith(("(", "[")) else -1 if piece in (")", "]") else 0
        if piece == "," and not depth:
            parts.append("")
        else:
            parts[-1] = f"{parts[-1]} {piece}".strip()
    return parts


def _format_labels(labels: Labels) -> str:
    return " and ".join(labels) if labels else "any variable"
