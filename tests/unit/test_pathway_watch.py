"""How Pathway is measured: by the minibatches it is through with, from the end of the warm-up on."""

from __future__ import annotations

import pytest
from benchmarks.patterns.events import CardEvents
from benchmarks.patterns.pathways import Watch


def test_what_a_minibatch_has_done_counts_when_it_is_through_and_the_warm_up_does_not() -> None:
    watch = Watch(start=1_000)
    for card, at in (("c4", 1_399), ("c7", 1_499), ("c4", 1_099)):
        watch.answer(None, {"card": card, "pay_at": at}, time=0, is_addition=True)
    assert len(watch.looks) == 1
    watch.done(0)
    watch.done(0)  # nothing new
    assert [look[1] for look in watch.looks] == [0, 450]
    watch.answer(None, {"card": "c7", "pay_at": 1_999}, time=1, is_addition=True)
    watch.done(1)
    watch.looks = [(10.0, 0.0, 1.0), (20.0, 450.0, 2.0), (30.0, 700.0, 5.0)]
    assert watch.measured(warm=225) == {"events": 475, "seconds": 15.0, "cpu": 3.5}
    assert watch.pairs == 4
    with pytest.raises(SystemExit, match="700 events were taken, not more than 700"):
        watch.measured(warm=700)


def test_a_topic_states_what_it_holds() -> None:
    made = CardEvents(700, cards=20, every=3)
    assert CardEvents.of(made.topic) == made
