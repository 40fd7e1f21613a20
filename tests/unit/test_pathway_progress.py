"""Pathway is measured by its finished minibatches after the warm-up."""

from __future__ import annotations

import pytest
from benchmarks.patterns.events import CardEvents
from benchmarks.patterns.pathway_join import Progress


def test_events_of_a_minibatch_count_when_it_has_ended_and_those_of_the_warm_up_do_not() -> None:
    progress = Progress(start=1_000)
    for card, at in (("c4", 1_399), ("c7", 1_499), ("c4", 1_099)):
        progress.answer(None, {"card": card, "pay_at": at}, time=0, is_addition=True)
    assert len(progress.samples) == 1
    progress.end_minibatch(0)
    progress.end_minibatch(0)  # no new result
    assert [sample[1] for sample in progress.samples] == [0, 450]
    progress.answer(None, {"card": "c7", "pay_at": 1_999}, time=1, is_addition=True)
    progress.end_minibatch(1)
    progress.samples = [(10.0, 0.0, 1.0), (20.0, 450.0, 2.0), (30.0, 700.0, 5.0)]
    assert progress.measure(warm=225) == {"events": 475, "seconds": 15.0, "cpu": 3.5}
    assert progress.pairs == 4
    with pytest.raises(SystemExit, match="700 events were consumed, not more than 700"):
        progress.measure(warm=700)


def test_the_name_of_a_topic_describes_its_events() -> None:
    events = CardEvents(700, cards=20, every=3)
    assert CardEvents.of(events.topic) == events
