"""Functions and tables in Spark SQL that reach a class or a file of the machine.

The tokens are those of Spark's lexer, because another parser could take a call for a comment or a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.access import CODE_HINT, current_code
from headrace.access.problems import reject

_JAVA = frozenset({"REFLECT", "TRY_REFLECT", "JAVA_METHOD"})
_FILE_FUNCTIONS = "FROM_AVRO TO_AVRO SCHEMA_OF_AVRO FROM_PROTOBUF TO_PROTOBUF HEADRACE_ENCODE"
_FILES = frozenset(_FILE_FUNCTIONS.split())
"""Functions whose arguments and options may name a file or a URL."""
_OPTIONS = {"FROM_XML": 2, "SCHEMA_OF_XML": 1}
"""Functions whose options may name a file, with the number of arguments before the options."""
_FORMATS = frozenset({"JSON", "CSV", "TEXT", "PARQUET", "ORC", "AVRO", "XML", "BINARYFILE", "DELTA"})
_TOKEN = re.compile(
    r"""
    (?P<gap>\s+ | --(?:\\\n|[^\r\n])*)
  | (?P<text>[rR]'[^']*(?:'|\Z) | [rR]"[^"]*(?:"|\Z)
      | '[^'\\]*(?:\\.[^'\\]*)*(?:'|\\?\Z) | "[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z))
  | (?P<name>`[^`]*(?:``[^`]*)*(?:`|\Z))
  | (?P<word>\w+)
  | (?P<comment>/\*(?!\+))
  | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
"""A text that is not closed, an error in Spark, is a token up to the end, so each character is read once."""
_BRACKET = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str

    @property
    def name(self) -> str:
        """The identifier in upper case, as Spark compares keywords; empty for other tokens."""
        if self.kind == "name":
            return self.text.strip("`").upper()
        return self.text.upper() if self.kind == "word" else ""


_NONE = _Token("", "")


@dataclass
class _Bracket:
    """An open bracket, and the function before it."""

    function: _Token
    commas: int = 0


def check_sql(text: str) -> str:
    """Return an expression or a query, or reject it if it reaches a class or a file.

    Raises:
        PydanticCustomError: a service restricts documents, and does not accept this text.
    """
    if not current_code() and (problem := find_problem(text)):
        raise reject(problem, CODE_HINT)
    return text


def find_problem(text: str) -> str:
    """Return the reason why a text in Spark SQL is not accepted without code; empty if it is.

    >>> find_problem("reflect /* ) */ ('java.lang.System', 'getenv')")
    'a function that calls Java is not accepted: `reflect`'
    >>> find_problem("upper(reflect) || 'reflect(1)'")
    ''
    """
    tokens = list(_tokens(text))
    brackets: list[_Bracket] = []
    for earlier, before, token in zip([_NONE, _NONE, *tokens], [_NONE, *tokens], tokens, strict=False):
        if token.text in ("(", "["):
            brackets.append(_Bracket(before if token.text == "(" else _NONE))
            if problem := _find_call_problem(before):
                return problem
        elif token.text in (")", "]") and brackets:
            brackets.pop()
        elif token.text == "," and brackets:
            brackets[-1].commas += 1
            function = brackets[-1].function
            if brackets[-1].commas == _OPTIONS.get(function.name):
                return f"options that may name files are not accepted: `{_shown(function)}`"
        elif token.kind == "text" and before.kind == "word" and before.name == "USING":
            return "a query that starts a program is not accepted: `using`"
        elif token.kind == "name" and _may_be_path(earlier, before, token):
            return f"a path cannot be queried as a table: {token.text[:80]}"
    return ""


def words_of(text: str) -> list[str]:
    """Return the words and signs of a text as Spark's lexer reads them, in upper case.

    >>> words_of("select /* insert */ `drop` from t where a = 'insert'")
    ['SELECT', 'FROM', 'T', 'WHERE', 'A', '=']
    """
    return [token.text.upper() for token in _tokens(text) if token.kind in ("word", "sign")]


def _find_call_problem(function: _Token) -> str:
    if function.name in _JAVA:
        return f"a function that calls Java is not accepted: `{_shown(function)}`"
    if function.name in _FILES:
        return f"a function that may read files is not accepted: `{_shown(function)}`"
    if function.name == "IDENTIFIER":
        return "`identifier(...)` is not accepted, because it may name any function"
    return ""


def _may_be_path(earlier: _Token, before: _Token, token: _Token) -> bool:
    after_format = before.text == "." and earlier.name in _FORMATS
    return after_format or any(sign in token.text for sign in "/\\")


def _shown(function: _Token) -> str:
    return function.text.strip("`").lower()


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the tokens that Spark's lexer yields, without white space and comments."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None, "every character is a sign at least"
        at = match.end()
        if match.lastgroup == "comment":
            at = _end_of_comment(text, at)
        elif match.lastgroup != "gap":
            yield _Token(str(match.lastgroup), match.group())


def _end_of_comment(text: str, at: int) -> int:
    """Return the end of a comment; comments nest."""
    depth = 1
    while depth and (bracket := _BRACKET.search(text, at)):
        depth += 1 if bracket.group() == "/*" else -1
        at = bracket.end()
    return len(text) if depth else at
