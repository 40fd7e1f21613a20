"""Parse Spark SQL with sqlglot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from headrace.access.effort import check_effort

if TYPE_CHECKING:
    from sqlglot import Token
    from sqlglot import expressions as exp

_TOKEN = re.compile(r"<Token .*?text: (.*?), line: .*?>")
"""sqlglot prints its token objects."""
MAX_TOKENS = 10_000
"""The number of words and signs in an expression or a query; it takes about a second to parse them."""
TOO_LONG = f"expected at most {MAX_TOKENS} words and signs, got {{}}"
_OPERAND = re.compile(r"Required keyword: '\w+' missing for <class ")


def parse_statements(text: str) -> list[exp.Expr]:
    """Parse statements.

    After `group by`, sqlglot reads `window`, `limit` and `offset` as clauses; here they are columns or
    functions, as in `group by window(ts, '1 minute')`.

    >>> [statement.sql() for statement in parse_statements("select n from t group by window")]
    ['SELECT n FROM t GROUP BY window']

    Raises:
        SqlglotError: the text cannot be parsed, or is nested too deeply.
    """
    from sqlglot import Dialect, TokenType  # a local import: it is half of the start-up time of a command

    spark = Dialect.get_or_raise("spark")
    tokens = spark.tokenize(text)
    clauses = (TokenType.WINDOW, TokenType.LIMIT, TokenType.OFFSET)
    for before, token in pairwise(tokens):
        if before.token_type == TokenType.GROUP_BY and token.token_type in clauses:
            token.token_type = TokenType.VAR
    check_size(len(tokens))
    return parse_tokens(tokens, text)


def parse_tokens(tokens: list[Token], text: str) -> list[exp.Expr]:
    """Parse the statements of tokens.

    Raises:
        SqlglotError: the text cannot be parsed, or is nested too deeply.
    """
    from sqlglot import Dialect, ParseError

    try:
        statements = Dialect.get_or_raise("spark").parser().parse(tokens, text)
    except RecursionError:
        raise ParseError("it is nested too deeply") from None
    except (AttributeError, LookupError, TypeError):  # of sqlglot, such as for `map(n)`
        raise ParseError("a function has too few or too many arguments") from None
    return [statement for statement in statements if statement is not None]


def check_size(tokens: int) -> None:
    """Reject a text with so many tokens that it takes seconds to parse.

    Raises:
        SqlglotError: it has.
    """
    from sqlglot import ParseError

    check_effort()
    if tokens > MAX_TOKENS:
        raise ParseError(TOO_LONG.format(tokens))


def describe_fault(fault: Mapping[str, Any]) -> str:
    """Return the message of a syntax error of sqlglot without names of its classes.

    >>> missing = "Required keyword: 'expression' missing for <class 'sqlglot.expressions.core.GT'>"
    >>> describe_fault({"description": missing, "highlight": ">"})
    'an operand is missing near `>`'
    """
    if _OPERAND.match(fault["description"]):
        return f"an operand is missing near `{fault['highlight']}`"
    reason: str = _TOKEN.sub(r"`\1`", fault["description"]).rstrip(".")
    return reason[:1].lower() + reason[1:]
