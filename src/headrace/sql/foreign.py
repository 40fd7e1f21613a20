"""SQL of other engines that Spark SQL does not have, such as `TUMBLE`, and the steps that replace it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.sql.expression_check import ExpressionFault
from headrace.sql.match_recognize.tokens import Token, position_of, tokens_of

_WINDOW = "use key_by(...).window(windows.{}).aggregate(...), or group by {} of Spark SQL"
_TUMBLING = _WINDOW.format('tumbling("10 seconds")', "window(ts, '10 seconds')")
_SLIDING = _WINDOW.format('sliding("10 seconds", every="5 seconds")', "window(ts, '10 seconds', '5 seconds')")
_SESSION = _WINDOW.format('session("5 seconds")', "session_window(ts, '5 seconds')")
_CUMULATE = 'use key_by(...).window(windows.landmark(reset="20 seconds", step="5 seconds")).aggregate(...)'
_TRAILING = 'use key_by(...).window(windows.trailing("10 seconds")).aggregate(...)'
_TOP = 'use key_by(...).top_n("first", n=2, order_by="amount desc"), or the aggregate max_by(id, amount)'
_QUERY = "write the query as a sql step; other queries read it by its name"

_WITHIN = 'use join(..., within="10 seconds"), or s.ts between o.ts and o.ts + interval 10 seconds'

_MISSING = "Spark SQL has no {}"
_STATEMENT = "a sql step is one query, not {}"

_STATEMENTS: tuple[tuple[str, str], ...] = (
    ("CREATE VIEW|CREATE TEMPORARY VIEW|CREATE MATERIALIZED VIEW", _QUERY),
    ("CREATE TABLE ? AS|CREATE STREAM ? AS", _QUERY),
    ("CREATE", "declare a source with read(...), or with `sources` in a document"),
    ("INSERT", 'write the query as a sql step, and end it with write("results", ...)'),
    ("EXPLAIN", "use `headrace explain`, or pipeline.explain()"),
)
"""Alternatives of first words (`?` is any word) and the hint."""

_FORMS: tuple[tuple[str, str], ...] = (
    ("TUMBLE (|TUMBLE_START (|TUMBLE_END (|TUMBLE_ROWTIME (|TUMBLINGWINDOW (|WINDOW TUMBLING (", _TUMBLING),
    ("HOP (|HOP_START (|HOP_END (|HOP_ROWTIME (|HOPPINGWINDOW (|WINDOW HOPPING (", _SLIDING),
    ("SESSION (|SESSION_START (|SESSION_END (|SESSION_ROWTIME (|SESSIONWINDOW (|WINDOW SESSION (", _SESSION),
    ("CUMULATE (", _CUMULATE),
    ("SLIDINGWINDOW (", _TRAILING),
    ("SYSTEM . TIMESTAMP", "group by the column of event time, or add processing_time()"),
    ("TOPONE (|TOPK (|TOPKDISTINCT (", _TOP),
    ("LATEST_BY_OFFSET (", 'use key_by(...).latest("current"), or the aggregate max_by(amount, ts)'),
    ("EARLIEST_BY_OFFSET (", "use distinct(on=...), or the aggregate min_by(amount, ts)"),
    ("PROCTIME (", 'use join(..., at="arrival") with a table of key_by(...).latest(...), or lookup(...)'),
    ("JOIN ? WITHIN #|JOIN ? ? WITHIN #|JOIN ? AS ? WITHIN #|JOIN ? WITHIN (|JOIN ? ? WITHIN (", _WITHIN),
    ("LIMIT DURATION", 'use key_by(...).stateful_map(...), or window(windows.trailing("1 hour"))'),
    ("TIMESTAMP BY", 'declare the time of the stream with event_time("ts")'),
    ("EMIT CHANGES", "remove it: key_by(...).aggregate(...) emits changed rows, where(...) new ones"),
    ("EMIT FINAL", "remove it: a window emits when it closes; window(...).emit(early=...) emits earlier"),
)  # fmt: skip
"""Alternatives of words that occur in no query of Spark SQL (`?` is any word, `#` a number) and the hint."""


def foreign_forms(query: str) -> Iterator[ExpressionFault]:
    """Yield the statements and clauses of other engines in a query, the outermost form first.

    >>> [fault.problem for fault in foreign_forms("select k from tx emit changes")]
    ['Spark SQL has no EMIT CHANGES, as at line 1, column 18']
    """
    tokens = [token for token in tokens_of(query) if token.kind != "end"]
    kinds = {"number": "#", "quoted": "", "text": ""}
    words = [kinds.get(token.kind, token.text.upper()) for token in tokens]
    for forms, hint in _STATEMENTS:
        for form in forms.split("|"):
            if _find(words[: len(form.split())], form) is not None:
                name = f"{form.replace(' ?', ' ...')} at {position_of(query, tokens[0].at)}"
                yield ExpressionFault(_STATEMENT.format(name), hint)
                return
    yield from _outer_clauses(query, tokens, words)
    for forms, hint in _FORMS:
        for form in forms.split("|"):
            at = _find(words, form)
            if at is not None:
                name = " ".join(part for part in form.split() if part not in ("?", "#", "JOIN", "("))
                place = position_of(query, tokens[at].at)
                yield ExpressionFault(f"{_MISSING.format(name)}, as at {place}", hint)


def _outer_clauses(query: str, tokens: Sequence[Token], words: Sequence[str]) -> Iterator[ExpressionFault]:
    """Yield PARTITION BY and SELECT ... INTO outside of parentheses."""
    depth = 0
    for token, word, after in zip(tokens, words, [*words[1:], ""], strict=False):
        depth += (word == "(") - (word == ")")
        if depth == 0 and (word, after) == ("PARTITION", "BY"):
            what = f"Spark SQL has no PARTITION BY outside of OVER, as at {position_of(query, token.at)}"
            yield ExpressionFault(what, "use key_by(...) before a step with state; a sink has its own `key`")
        if depth == 0 and word == "INTO" and words[:1] in (["SELECT"], ["WITH"]):
            hint = 'remove INTO, and end the step with write("results", ...)'
            what = f"a sql step writes no table, but INTO at {position_of(query, token.at)} does"
            yield ExpressionFault(what, hint)


def _find(words: Sequence[str], form: str) -> int | None:
    parts = form.split()
    for at in range(len(words) - len(parts) + 1):
        if all(part in ("?", word) for part, word in zip(parts, words[at : at + len(parts)], strict=True)):
            return at
    return None
