"""The circuit breaker of a service, with a manual clock."""

from __future__ import annotations

from headrace.models.circuit import CircuitBreaker


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def fail(breaker: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        breaker.record(succeeded=False)


def test_only_failures_in_a_row_open_it() -> None:
    breaker = CircuitBreaker(3, 30.0, Clock())
    fail(breaker, 2)
    breaker.record(succeeded=True)
    fail(breaker, 2)
    assert breaker.allows()
    fail(breaker, 1)
    assert not breaker.allows()


def test_after_a_pause_one_call_decides() -> None:
    clock = Clock()
    breaker = CircuitBreaker(1, 30.0, clock)
    fail(breaker, 1)
    clock.now = 29.9
    assert not breaker.allows()
    clock.now = 30.0
    assert [breaker.allows() for _ in range(3)] == [True, False, False]
    fail(breaker, 1)
    clock.now = 59.9
    assert not breaker.allows()
    clock.now = 60.0
    assert breaker.allows()
    breaker.record(succeeded=True)
    assert [breaker.allows() for _ in range(3)] == [True, True, True]
