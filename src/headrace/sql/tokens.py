"""Words and signs of a SQL text with their places: as much as it takes to find a clause and to say where it is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NoReturn

from headrace.errors import OptionError, did_you_mean

Kind = Literal["word", "quoted", "text", "number", "sign", "end"]

_TOKEN = re.compile(
    r"""
    (?P<gap>\s+ | --[^\n]* | /\*.*?\*/)
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<text>[rR]?'(?:[^'\\]|\\.|'')*' | [rR]?"(?:[^"\\]|\\.|"")*")
  | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[A-Za-z]*)
  | (?P<word>[^\W\d]\w*)
  | (?P<sign>\|\||<=>|<=|>=|<>|!=|==|->|=>|::|.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """One word or sign; `text` as it stands, `at` and `end` its place in the statement."""

    kind: Kind
    text: str
    at: int
    end: int

    def says(self, *words: str) -> bool:
        """Whether it is one of these key words or signs.

        >>> Token("word", "Define", 0, 6).says("DEFINE")
        True
        """
        return self.kind in ("word", "sign") and self.text.upper() in words

    @property
    def names(self) -> bool:
        """Whether it can be an identifier."""
        return self.kind in ("word", "quoted")

    @property
    def name(self) -> str:
        """The identifier it is, without backticks."""
        return self.text[1:-1].replace("``", "`") if self.kind == "quoted" else self.text

    def __str__(self) -> str:
        return "the end of the text" if self.kind == "end" else f"`{self.text}`"


def tokens_of(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """The tokens of a part of a statement, comments left out, an end token last.

    >>> [token.text for token in tokens_of("a.b >= 'x y' -- why")]
    ['a', '.', 'b', '>=', "'x y'", '']
    """
    stop = len(text) if end is None else end
    found, at = [], start
    while at < stop:
        match = _TOKEN.match(text, at, stop)
        assert match is not None, "every character is a sign at least"
        if match.lastgroup != "gap":
            kind: Kind = match.lastgroup  # type: ignore[assignment]
            found.append(Token(kind, match.group(), at, match.end()))
        at = match.end()
    return [*found, Token("end", "", stop, stop)]


def place_of(statement: str, at: int) -> str:
    """A place of a statement in words.

    >>> place_of("select * from tx", 14)
    'line 1, column 15'
    """
    line = statement.count("\n", 0, at) + 1
    return f"line {line}, column {at - (statement.rfind(chr(10), 0, at) + 1) + 1}"


def refuse(statement: str, at: int, what: str, *, where: str = "", hint: str = "") -> NoReturn:
    """Say what is wrong at a place of a statement.

    Raises:
        OptionError: always; with line and column.
    """
    said = f"the SQL can't be read at {place_of(statement, at)}: {what}"
    raise OptionError(said, where=where, hint=hint)


class Reader:
    """Walks over tokens, one ahead, and refuses what it doesn't expect."""

    def __init__(self, statement: str, tokens: list[Token], where: str) -> None:
        self.statement = statement
        self.tokens = tokens
        self.where = where
        self.i = 0

    @property
    def now(self) -> Token:
        return self.tokens[self.i]

    def ahead(self, n: int = 1) -> Token:
        return self.tokens[min(self.i + n, len(self.tokens) - 1)]

    def take(self) -> Token:
        token = self.now
        self.i = min(self.i + 1, len(self.tokens) - 1)
        return token

    def takes(self, *words: str) -> bool:
        """Take the words if they come next, all of them in a row."""
        if all(self.ahead(n).says(word) for n, word in enumerate(words)):
            self.i += len(words)
            return True
        return False

    def need(self, *words: str, hint: str = "") -> None:
        """Take the words, or refuse what stands there."""
        for word in words:
            if not self.takes(word):
                self.unexpected(f"`{word}`", [word], hint)

    def identifier(self, what: str) -> Token:
        """Take a name."""
        if not self.now.names:
            self.unexpected(what, [])
        return self.take()

    def unexpected(self, wanted: str, known: Iterable[str], hint: str = "") -> NoReturn:
        """Refuse the token at hand; a word that is nearly a known one is told so."""
        near = did_you_mean(self.now.text.upper(), known) if self.now.kind == "word" else ""
        told = near if near.startswith("did you mean") else ""
        self.refuse(self.now, f"expected {wanted}, got {self.now}", hint or told)

    def refuse(self, token: Token, what: str, hint: str = "") -> NoReturn:
        refuse(self.statement, token.at, what, where=self.where, hint=hint)

    def inside(self) -> list[Token]:
        """The tokens up to the bracket that closes the one just taken, which is taken too."""
        opened = self.tokens[self.i - 1]
        depth, begin = 1, self.i
        while depth:
            if self.now.kind == "end":
                self.refuse(opened, f"{opened} is never closed", f"add `{')' if opened.says('(') else ']'}`")
            depth += 1 if self.now.says("(", "[") else -1 if self.now.says(")", "]") else 0
            self.i += 1
        close = self.tokens[self.i - 1]
        return [*self.tokens[begin : self.i - 1], Token("end", "", close.at, close.at)]
