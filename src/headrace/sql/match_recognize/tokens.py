"""Tokens of a SQL text with their positions, and a recursive-descent reader over them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NoReturn

from headrace.errors import OptionError, did_you_mean

Kind = Literal["word", "quoted", "text", "number", "sign", "end"]

_TOKEN = re.compile(
    r"""
    (?P<gap>\s+ | --[^\n]* | /\*.*?(?:\*/|\Z))
  | (?P<quoted>`[^`]*(?:``[^`]*)*(?:`|\Z))
  | (?P<text>[rR]?'[^'\\]*(?:(?:\\.|'')[^'\\]*)*(?:'|\\?\Z) | [rR]?"[^"\\]*(?:(?:\\.|"")[^"\\]*)*(?:"|\\?\Z))
  | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[A-Za-z]*)
  | (?P<word>[^\W\d]\w*)
  | (?P<sign>\|\||<=>|<=|>=|<>|!=|==|->|=>|::|.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """A token; `at` and `end` are its position in the statement."""

    kind: Kind
    text: str
    at: int
    end: int

    def matches(self, *words: str) -> bool:
        """Return true if the token is one of these keywords or signs.

        >>> Token("word", "Define", 0, 6).matches("DEFINE")
        True
        """
        return self.kind in ("word", "sign") and self.text.upper() in words

    @property
    def names(self) -> bool:
        """True if the token can be an identifier."""
        return self.kind in ("word", "quoted")

    @property
    def name(self) -> str:
        """The identifier without backticks."""
        return self.text[1:-1].replace("``", "`") if self.kind == "quoted" else self.text

    def __str__(self) -> str:
        return "the end of the text" if self.kind == "end" else f"`{self.text}`"


def tokens_of(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """Return the tokens of a range of a statement, without comments, with an end token.

    >>> [token.text for token in tokens_of("a.b >= 'x y' -- why")]
    ['a', '.', 'b', '>=', "'x y'", '']
    """
    stop = len(text) if end is None else end
    tokens, at = [], start
    while at < stop:
        match = _TOKEN.match(text, at, stop)
        assert match is not None, "every character is a sign at least"
        if match.lastgroup != "gap":
            kind: Kind = match.lastgroup  # type: ignore[assignment]
            tokens.append(Token(kind, match.group(), at, match.end()))
        at = match.end()
    return [*tokens, Token("end", "", stop, stop)]


def position_of(statement: str, at: int) -> str:
    """Format a position in a statement.

    >>> position_of("select * from tx", 14)
    'line 1, column 15'
    """
    line = statement.count("\n", 0, at) + 1
    return f"line {line}, column {at - (statement.rfind(chr(10), 0, at) + 1) + 1}"


class TokenReader:
    """A cursor over tokens that raises located errors for unexpected ones."""

    def __init__(self, statement: str, tokens: list[Token], where: str) -> None:
        self.statement = statement
        self.tokens = tokens
        self.where = where
        self.i = 0

    @property
    def current(self) -> Token:
        return self.tokens[self.i]

    def peek(self, n: int = 1) -> Token:
        return self.tokens[min(self.i + n, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.current
        self.i = min(self.i + 1, len(self.tokens) - 1)
        return token

    def accept(self, *words: str) -> bool:
        """Consume the words if they are the next tokens, in this order."""
        if all(self.peek(n).matches(word) for n, word in enumerate(words)):
            self.i += len(words)
            return True
        return False

    def expect(self, *words: str, hint: str = "") -> None:
        """Consume the words, or raise an error."""
        for word in words:
            if not self.accept(word):
                self.fail_expected(f"`{word}`", [word], hint)

    def identifier(self, what: str) -> Token:
        """Consume an identifier."""
        if not self.current.names:
            self.fail_expected(what, [])
        return self.advance()

    def fail_expected(self, wanted: str, known: Iterable[str], hint: str = "") -> NoReturn:
        """Raise an error at the current token, with the most similar known word as the hint."""
        near = did_you_mean(self.current.text.upper(), known) if self.current.kind == "word" else ""
        similar = near if near.startswith("did you mean") else ""
        self.fail(self.current, f"expected {wanted}, got {self.current}", hint or similar)

    def fail(self, token: Token, what: str, hint: str = "") -> NoReturn:
        """Raise an error at a token.

        Raises:
            OptionError: always, with line and column.
        """
        position = position_of(self.statement, token.at)
        raise OptionError(f"SQL syntax error at {position}: {what}", where=self.where, hint=hint)

    def skip_part(self) -> None:
        """Consume a token; after an opening bracket, all tokens up to the closing one."""
        if self.advance().matches("(", "["):
            self.read_bracketed()

    def text_since(self, start: Token) -> str:
        """Return the text from a token to the last one that was consumed."""
        return self.statement[start.at : self.tokens[self.i - 1].end]

    def read_bracketed(self) -> list[Token]:
        """Consume and return the tokens up to the bracket that closes the one just consumed."""
        opened = self.tokens[self.i - 1]
        depth, begin = 1, self.i
        while depth:
            if self.current.kind == "end":
                self.fail(opened, f"{opened} is never closed", f"add `{')' if opened.matches('(') else ']'}`")
            depth += 1 if self.current.matches("(", "[") else -1 if self.current.matches(")", "]") else 0
            self.i += 1
        close = self.tokens[self.i - 1]
        return [*self.tokens[begin : self.i - 1], Token("end", "", close.at, close.at)]
