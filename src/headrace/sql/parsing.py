"""Parse Spark SQL with sqlglot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlglot import expressions as exp

_TOKEN = re.compile(r"<Token .*?text: (.*?), line: .*?>")
"""sqlglot prints its token objects."""
_OPERAND = re.compile(r"Required keyword: '\w+' missing for <class ")


def parse_statements(text: str) -> list[exp.Expr]:
    """Parse statements.

    After `group by`, sqlglot reads `window`, `limit` and `offset` as clauses; here they are columns or
    functions, as in `group by window(ts, '1 minute')`.

    >>> [statement.sql() for statement in parse_statements("select n from t group by window")]
    ['SELECT n FROM t GROUP BY window']

    Raises:
        SqlglotError: the text cannot be parsed.
    """
    from sqlglot import Dialect, TokenType  # a local import: it is half of the start-up time of a command

    spark = Dialect.get_or_raise("spark")
    tokens = spark.tokenize(text)
    clauses = (TokenType.WINDOW, TokenType.LIMIT, TokenType.OFFSET)
    for before, token in pairwise(tokens):
        if before.token_type == TokenType.GROUP_BY and token.token_type in clauses:
            token.token_type = TokenType.VAR
    return [statement for statement in spark.parser().parse(tokens, text) if statement is not None]


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
