"""The models of the join benchmark, and how results in Flink's sink are counted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat

import pytest
from benchmarks.engines import flink
from benchmarks.joins import model
from benchmarks.joins.events import Clicks, Quotes, Rows, Trades, Views
from benchmarks.topics import PARTITIONS


def _all(rows: Rows) -> Iterator[tuple[int, int]]:
    return ((rows.key(number), number // PARTITIONS) for number in range(rows.rows))


def test_pairs_of_the_model_are_those_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "WITHIN", 40)
    views, clicks = _all(Views(400, 20)), list(_all(Clicks(400, 20)))
    pairs = sum(ad == key and at <= time <= at + 40 for ad, at in views for key, time in clicks)
    assert model.count_pairs(400, 20) == pairs > 0


def test_priced_trades_of_the_model_are_those_with_a_quote_before() -> None:
    trades, quotes = _all(Trades(300, 50)), list(_all(Quotes(300, 50)))
    priced = sum(any(symbol == key and time <= at for key, time in quotes) for symbol, at in trades)
    assert 0 < model.count_priced(300, 50) == priced < 300


def test_a_count_from_before_a_pause_is_not_final(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answer after a pause is an old one: two requests with a pause between them are not enough."""
    counts = chain([5, 5, 9], repeat(9))
    monkeypatch.setattr(flink, "_SETTLED", 0.2)
    monkeypatch.setattr(flink, "_POLL", 0.01)
    assert flink.final_count(lambda: next(counts)) == 9
