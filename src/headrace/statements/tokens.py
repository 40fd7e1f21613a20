"""Tokens of a script, with their places, and a cursor over those of one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar, NoReturn

from headrace.errors import DocumentError, Problem
from headrace.yaml.parsing import check_length

if TYPE_CHECKING:
    from sqlglot import Dialect, TokenType
    from sqlglot.tokenizer_core import Token

_QUOTES = {"'": "'", '"': '"', "`": "`"}


@dataclass(frozen=True)
class Script:
    """The text of a script, and the name of its file in errors."""

    text: str
    file: str

    def place_at(self, offset: int) -> str:
        """Return `file:line:column` of a position in the text."""
        line = self.text.count("\n", 0, offset) + 1
        column = offset - self.text.rfind("\n", 0, offset)
        return f"{self.file}:{line}:{column}"

    def place(self, token: Token) -> str:
        """Return `file:line:column` of a token."""
        return self.place_at(token.start)


def split_statements(script: Script) -> list[list[Token]]:
    """Return the tokens of each statement; statements end with a semicolon.

    Raises:
        DocumentError: the script is too long, or a quote or a comment is not closed.
    """
    from sqlglot import TokenType
    from sqlglot.errors import TokenError

    check_length(script.text, script.file)
    try:
        tokens = tokenize(script.text)
    except TokenError:
        raise DocumentError(
            [Problem(script.place_at(_unclosed(script.text)), "this quote is not closed", "close it")]
        ) from None
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text.

    Raises:
        TokenError: a quote or a comment is not closed.
    """
    return _dialect().tokenize(text)


@cache
def _dialect() -> Dialect:
    from sqlglot.dialects.spark import Spark

    class Statements(Spark):
        """Spark's dialect; `EXPLAIN` and `SHOW` do not take the rest of a statement as text."""

        class Tokenizer(Spark.Tokenizer):
            COMMANDS: ClassVar[set[TokenType]] = set()

    return Statements()


def _unclosed(text: str) -> int:
    """Return the position of the last quote that opens without an end."""
    opened, position = 0, 0
    while position < len(text):
        if text[position] in _QUOTES:
            opened = position
            end = text.find(text[position], position + 1)
            if end < 0:
                return opened
            position = end
        position += 1
    return opened


class Cursor:
    """Reads the tokens of one statement, one after the other."""

    def __init__(self, script: Script, tokens: Sequence[Token]) -> None:
        self.script = script
        self.tokens = list(tokens)
        self.position = 0

    @property
    def current(self) -> Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    @property
    def place(self) -> str:
        """The place of the current token, or of the end of the statement."""
        token = self.current or self.tokens[-1]
        return self.script.place(token)

    def peek(self, *words: str) -> bool:
        """Return True if the next tokens are these words."""
        return self._match(words) > 0

    def take(self, *words: str) -> bool:
        """Skip these words if they are next."""
        count = self._match(words)
        self.position += count
        return count > 0

    def _match(self, words: Sequence[str]) -> int:
        """Return the number of tokens that are these words; sqlglot reads `PRIMARY KEY` as one token."""
        ahead: list[str] = []
        for position in range(
            self.position, len(self.tokens)
        ):  # a slice would copy the rest of the statement
            parts = self.tokens[position].text.upper().split()
            ahead += parts
            if not parts or ahead != list(words[: len(ahead)]):
                return 0
            if len(ahead) == len(words):
                return position + 1 - self.position
        return 0

    def expect(self, word: str, hint: str = "") -> Token:
        """Return the next token, which must be this word."""
        token = self.current
        if token is None or token.text.upper() != word:
            self.fail(f"expected {word}, got {self._got()}", hint)
        self.position += 1
        return token

    def next(self, expected: str, hint: str = "") -> Token:
        """Return the next token."""
        token = self.current
        if token is None:
            self.fail(f"expected {expected}, got the end of the statement", hint)
        self.position += 1
        return token

    def name(self, expected: str) -> Token:
        """Return the next token, which must be a name."""
        token = self.next(expected)
        if not (token.text[:1].isalpha() or token.text[:1] == "_" or self.is_quoted(token)):
            self.position -= 1
            self.fail(f"expected {expected}, got {self._got()}")
        return token

    def is_quoted(self, token: Token) -> bool:
        return self.script.text[token.start] in '`"'

    def until(self, *ends: str) -> list[Token]:
        """Return the tokens before the next of these words that is outside of brackets."""
        start, depth = self.position, 0
        while (token := self.current) is not None:
            if depth == 0 and token.text.upper() in ends:
                break
            depth += {"(": 1, "<": 1, "[": 1, ")": -1, ">": -1, "]": -1}.get(token.text, 0)
            self.position += 1
        return self.tokens[start : self.position]

    def text_of(self, tokens: Sequence[Token]) -> str:
        """Return the written text of consecutive tokens."""
        return self.script.text[tokens[0].start : tokens[-1].end + 1] if tokens else ""

    def fail(self, what: str, hint: str = "") -> NoReturn:
        """Raise a problem at the current token."""
        raise DocumentError([Problem(self.place, what, hint)])

    def _got(self) -> str:
        return f"`{self.current.text}`" if self.current is not None else "the end of the statement"
