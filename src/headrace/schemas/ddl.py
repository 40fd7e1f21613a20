"""Parse DDL text (`"card string, tags array<string>"`); errors have the column of the problem.

A recursive descent parser, because Spark's parser needs a JVM; a test checks that both agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from headrace.errors import SchemaError, did_you_mean
from headrace.schemas.datatypes import (
    INTERVAL_UNITS,
    SCALARS,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Scalar,
    Struct,
)

EXAMPLE = "card string, amount double, at timestamp"
_SYNONYMS = {"dec": "decimal", "numeric": "decimal"}
_LIKELY = {
    "str": "string",
    "text": "string",
    "varchar": "string",
    "char": "string",
    "bool": "boolean",
    "bytes": "binary",
    "datetime": "timestamp",
    "number": "double",
    "object": "struct<...>",
    "list": "array<...>",
    "dict": "map<string,...>",
    "json": "variant",
}
_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<quoted>`(?:[^`]|``)*`)
      | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<word>\w+)
      | (?P<mark>[<>(),:])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int

    def __str__(self) -> str:
        return "the end of the text" if self.kind == "end" else f"`{self.text.strip('`')}`"


def parse_fields(text: str, *, where: str = "") -> tuple[Field, ...]:
    """Return the fields of a list of columns, in order.

    >>> [str(f) for f in parse_fields("id long NOT NULL, `the tags` array<string>")]
    ['id bigint NOT NULL', '`the tags` array<string>']
    """
    return _Parser(text, where).columns()


def parse_type(text: str, *, where: str = "") -> DataType:
    """Return the type of a DDL expression.

    >>> str(parse_type("map<string, struct<a: integer>>"))
    'map<string,struct<a:int>>'
    """
    parser = _Parser(text, where)
    result = parser.type()
    parser.end("the end of the type")
    return result


class _Parser:
    """A pass over the tokens of a text."""

    def __init__(self, text: str, where: str) -> None:
        self._text, self._where = text, where
        self._tokens = self._scan()
        self._next = 0

    def columns(self) -> tuple[Field, ...]:
        if self._peek().kind == "end":
            self._fail(
                self._peek(), "expected at least one column, got an empty schema", f'write "{EXAMPLE}"'
            )
        fields = self._fields(":" if self._is_colon_style() else "")
        self.end("`,` or the end of the schema")
        return fields

    def type(self) -> DataType:
        token = self._take()
        if token.kind != "word":
            self._fail(token, f"expected a type, got {token}", f'write "{EXAMPLE}"')
        word = token.text.lower()
        word = _SYNONYMS.get(word, word)
        if word in SCALARS:
            return Scalar(SCALARS[word])
        parametric: dict[str, Callable[[], DataType]] = {
            "array": self._array,
            "decimal": self._decimal,
            "interval": self._interval,
            "map": self._map,
            "struct": self._struct,
        }
        if word not in parametric:
            hint = (
                f"write `{_LIKELY[word]}`" if word in _LIKELY else did_you_mean(word, {*SCALARS, *parametric})
            )
            self._fail(token, f"unknown type `{token.text}`", hint)
        return parametric[word]()

    def end(self, expected: str) -> None:
        token = self._peek()
        if token.kind != "end":
            self._fail(token, f"expected {expected}, got {token}", self._end_hint(token))

    def _fields(self, colon: str) -> tuple[Field, ...]:
        fields: dict[str, Field] = {}
        while not fields or self._accept(","):
            token = self._peek()
            field = self._field(colon)
            if field.name.lower() in fields:
                self._fail(token, f"duplicate name {token}", "names are compared without case")
            fields[field.name.lower()] = field
        return tuple(fields.values())

    def _field(self, colon: str) -> Field:
        name = self._name()
        if colon:
            self._accept(":")
        kind = self.type()
        nullable, comment = True, ""
        if self._accept("not"):
            self._expect("null", "`NULL` after `NOT`")
            nullable = False
        if self._accept("comment"):
            token = self._take()
            if token.kind != "text":
                self._fail(token, f"expected a comment in quotes, got {token}", "write COMMENT 'what it is'")
            comment = re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)
        return Field(name, kind, nullable, comment)

    def _name(self) -> str:
        token = self._take()
        if token.kind == "quoted" and len(token.text) > 2:
            return token.text[1:-1].replace("``", "`")
        if token.kind != "word" or token.text.isdigit():
            hint = "put an unusual name in backticks: `card no` string"
            self._fail(token, f"expected a column name, got {token}", hint)
        return token.text

    def _array(self) -> Array:
        self._open("array<string>")
        element = self.type()
        self._close()
        return Array(element)

    def _map(self) -> Map:
        self._open("map<string,int>")
        key = self.type()
        self._expect(",", "`,` between the map's key and value types")
        value = self.type()
        self._close()
        return Map(key, value)

    def _struct(self) -> Struct:
        self._open("struct<a:int>")
        if self._accept(">"):
            return Struct(())
        fields = self._fields(":")
        self._close()
        return Struct(fields)

    def _decimal(self) -> Decimal:
        if not self._accept("("):
            return Decimal()
        at = self._peek()
        precision = self._number()
        scale = self._number() if self._accept(",") else 0
        self._expect(")", "`)` after the decimal's digits")
        if not 1 <= precision <= 38 or scale > precision:
            what = (
                f"expected 1 to 38 digits, no more of them after the point, got decimal({precision},{scale})"
            )
            self._fail(at, what, "write decimal(18,2) for 18 digits, 2 of them after the point")
        return Decimal(precision, scale)

    def _interval(self) -> Scalar:
        first = self._unit()
        family = next(units for units in INTERVAL_UNITS if first.text.lower() in units)
        if not self._accept("to"):
            return Scalar(f"interval {first.text.lower()}")
        last = self._unit()
        finer = family[family.index(first.text.lower()) + 1 :]
        if last.text.lower() not in finer:
            self._fail(last, f"expected a unit finer than {first}, got {last}", _INTERVAL_HINT)
        return Scalar(f"interval {first.text.lower()} to {last.text.lower()}")

    def _unit(self) -> _Token:
        token = self._take()
        if all(token.text.lower() not in units for units in INTERVAL_UNITS):
            self._fail(token, f"expected a unit of time after `interval`, got {token}", _INTERVAL_HINT)
        return token

    def _number(self) -> int:
        token = self._take()
        if not (token.kind == "word" and token.text.isdecimal()):
            self._fail(token, f"expected a number of digits, got {token}", "write decimal(10,2)")
        return int(token.text)

    def _open(self, example: str) -> None:
        self._expect("<", f"`<`, as in {example}")

    def _close(self) -> None:
        self._expect(">", "`,` or `>`" if self._tokens[self._next - 1].text != "," else "`>`")

    def _expect(self, text: str, expected: str) -> None:
        token = self._peek()
        if not self._accept(text):
            self._fail(token, f"expected {expected}, got {token}", "")

    def _accept(self, text: str) -> bool:
        token = self._peek()
        if token.kind in ("word", "mark") and token.text.lower() == text:
            self._next += 1
            return True
        return False

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        if token.kind != "end":
            self._next += 1
        return token

    def _is_colon_style(self) -> bool:
        """Return True if columns are written `a: int`, which Spark accepts at the top level, too."""
        return len(self._tokens) > 1 and self._tokens[1].text == ":"

    def _end_hint(self, token: _Token) -> str:
        return "separate columns with a comma" if token.kind in ("word", "quoted") else ""

    def _scan(self) -> list[_Token]:
        tokens, at = [], 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None:
                token = _Token("bad", self._text[at], at)
                self._fail(token, *_bad_character(token))
            if match.lastgroup != "space":
                tokens.append(_Token(str(match.lastgroup), match.group(), at))
            at = match.end()
        return [*tokens, _Token("end", "", len(self._text))]

    def _fail(self, token: _Token, what: str, hint: str) -> NoReturn:
        before = self._text[: token.at]
        line, column = before.count("\n") + 1, token.at - (before.rfind("\n") + 1) + 1
        position = f"line {line}, column {column}" if "\n" in self._text.strip() else f"character {column}"
        where = f"{self._where}: schema {position}" if self._where else f"schema {position}"
        raise SchemaError(what, where=where, hint=hint)


_INTERVAL_HINT = "write `interval day to second` or `interval year to month`"


def _bad_character(token: _Token) -> tuple[str, str]:
    if token.text in "`'\"":
        return f"unclosed {token.text}", ""
    return f"expected a name, a type or a comma, got `{token.text}`", "put an unusual name in backticks"
