"""The number of results of each case, computed from the events one after the other."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict

from benchmarks.joins.events import Clicks, Payments, Quotes, Trades, Views, is_known
from benchmarks.topics import PARTITIONS

WITHIN = 10 * 60_000


def count_pairs(rows: int, keys: int) -> int:
    """Count the pairs of a view and a click on it at most 10 minutes later."""
    views, clicks = Views(rows, keys), Clicks(rows, keys)
    seen: dict[int, list[int]] = defaultdict(list)
    for number in range(rows):
        seen[views.key(number)].append(number // PARTITIONS)
    pairs = 0
    for number in range(rows):
        times, at = seen.get(clicks.key(number), []), number // PARTITIONS
        pairs += bisect_right(times, at) - bisect_left(times, at - WITHIN)
    return pairs


def count_priced(rows: int, keys: int) -> int:
    """Count the trades that have a price of the same time or earlier."""
    trades, quotes = Trades(rows, keys), Quotes(rows, keys)
    first: dict[int, int] = {}
    for number in range(rows):
        first.setdefault(quotes.key(number), number // PARTITIONS)
    return sum(first.get(trades.key(number), rows) <= number // PARTITIONS for number in range(rows))


def count_known(rows: int, keys: int) -> int:
    """Count the payments with a known card."""
    payments = Payments(rows, keys)
    return sum(is_known(payments.key(number)) for number in range(rows))
