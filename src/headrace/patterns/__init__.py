"""Patterns of rows of one key, with the semantics of Flink CEP.

A pattern begins with `step`, `group` or `either`. The verb defines the contiguity: `next` is strict,
`followed_by` skips rows that do not match, `followed_by_any` also skips rows that do; `not_next` and
`not_followed_by` are steps that must not occur. Quantifiers apply to the last step: `times`, `one_or_more`,
`optional`, and for repeats `greedy`, `consecutive`, `combinations`, `until`, `gap`.

>>> from headrace import patterns
>>> large = "amount > 500 and amount > 100 * small.amount"
>>> fraud = patterns.step("small", "amount < 1").followed_by("large", large)
>>> fraud.names
('small', 'large')
"""

from headrace.patterns.building import Negated, Once, Pattern, Repeated, either, group, step
from headrace.patterns.elements import Skip, Within


def to_first(step: str) -> Skip:
    """Continue the search at the first row of a step of the match.

    >>> from headrace import patterns
    >>> patterns.to_first("large")
    Skip(kind='to_first', step='large')
    """
    return Skip("to_first", step)


def to_last(step: str) -> Skip:
    """Continue the search at the last row of a step of the match.

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
