"""Patterns: rows of one key that follow each other, with Flink CEP's meaning.

A pattern begins with `step`, `group` or `either`. The verb says what may lie between: `next` nothing, `followed_by`
anything else, `followed_by_any` anything; `not_next` and `not_followed_by` say what must not come. Quantifiers speak of
the last step: `times`, `one_or_more`, `optional`, and for repeats `greedy`, `consecutive`, `combinations`, `until`, `gap`.

>>> from headrace import patterns
>>> fraud = patterns.step("small", "amount < 1").followed_by("large", "amount > 500 and amount > 100 * small.amount")
>>> fraud.names
('small', 'large')
"""

from headrace.patterns.building import Negated, Once, Pattern, Repeated, either, group, step
from headrace.patterns.elements import Skip, Within


def to_first(step: str) -> Skip:
    """After a match, go on with its first row of a step.

    >>> from headrace import patterns
    >>> patterns.to_first("large")
    Skip(kind='to_first', step='large')
    """
    return Skip("to_first", step)


def to_last(step: str) -> Skip:
    """After a match, go on with its last row of a step.

    >>> from headrace import patterns
    >>> patterns.to_last("large")
    Skip(kind='to_last', step='large')
    """
    return Skip("to_last", step)


__all__ = [
    "Negated",
    "Once",
    "Pattern",
    "Repeated",
    "Skip",
    "Within",
    "either",
    "group",
    "step",
    "to_first",
    "to_last",
]
