"""The write-ahead log: durable before acknowledged, bounded, and the same records after a crash."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.waiting import wait_until

from headrace.connectors.base import Reception
from headrace.connectors.failpoints import watch
from headrace.connectors.write_ahead_log import (
    LogClosedError,
    LogFullError,
    Message,
    MessageTooLargeError,
    Overflow,
)
from headrace.connectors.write_ahead_log.enumerator import LogEnumerator
from headrace.connectors.write_ahead_log.log import LogSettings, WriteAheadLog
from headrace.connectors.write_ahead_log.records import decode
from headrace.errors import SourceError

Open = Callable[..., WriteAheadLog]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens the log of the test's directory, with settings."""
    logs: list[WriteAheadLog] = []

    def open_log(**settings: object) -> WriteAheadLog:
        logs.append(WriteAheadLog(tmp_path, LogSettings(**settings)))  # type: ignore[arg-type]
        return logs[-1]

    yield open_log
    for log in logs:
        log.close()


def messages(*values: str) -> list[Message]:
    return [Message(value.encode()) for value in values]


def values(log: WriteAheadLog, start: int = 0, end: int | None = None) -> list[str]:
    slices = log.read(start, log.end if end is None else end)
    return [record.value.decode() for _, records in slices for record in decode(records)]


def fill(log: WriteAheadLog, count: int, size: int = 1000) -> None:
    for number in range(count):
        log.append([Message(f"{number:04d}".encode().ljust(size, b"."))], timeout=0)


def test_appended_messages_are_read_with_metadata_and_time(opened: Open) -> None:
    log = opened()
    log.append([Message(b"21", {"topic": "t/1", "retained": True}, id="a")])
    ((position, records),) = log.read(0, 1)
    (record,) = decode(records)
    assert (position, record.id, record.value) == (0, "a", b"21")
    assert record.metadata == b'{"topic":"t/1","retained":true}'
    assert record.received_at > 1_700_000_000_000_000


def test_positions_continue_after_a_restart(opened: Open) -> None:
    log = opened()
    log.append(messages("a", "b"))
    log.close()
    log = opened()
    log.append(messages("c"))
    assert (log.end, values(log), values(log, 1, 2)) == (3, ["a", "b", "c"], ["b"])


def test_positions_continue_after_every_record_was_released(opened: Open) -> None:
    log = opened(limit=80_000)
    fill(log, 40)
    log.release(log.end)
    log.close()
    log = opened()
    assert log.end == 40
    assert log.first > 0


def test_any_range_of_many_records_is_read_exactly(opened: Open) -> None:
    log = opened()
    expected = [f"{number}" for number in range(1500)]
    log.append(messages(*expected[:700]))
    log.append(messages(*expected[700:]))
    for start, end in ((0, 1500), (255, 257), (256, 512), (699, 701), (1499, 1500), (3, 3)):
        assert values(log, start, end) == expected[start:end]
    assert [position for position, _ in log.read(100, 1000, 400)] == [100, 500, 900]


def test_message_is_acknowledged_after_it_is_durable(opened: Open) -> None:
    log, order = opened(), list[str]()
    with watch(order.append):
        log.submit(messages("a"), lambda: order.append("acknowledged"))
        wait_until(lambda: "acknowledged" in order)
    assert order[:3] == ["log.appended", "log.synced", "acknowledged"]


@pytest.mark.parametrize("fsync", ["interval", "never"])
def test_other_fsync_policies_store_every_message(opened: Open, fsync: str) -> None:
    log = opened(fsync=fsync)
    fill(log, 20)
    log.close()
    assert len(values(opened())) == 20


def test_redelivered_message_is_stored_once_also_after_a_restart(opened: Open) -> None:
    log = opened(limit=80_000)
    log.append([Message(b"a", id="1"), Message(b"b", id="2")])
    log.append([Message(b"a", id="1")])
    fill(log, 40)
    log.release(log.end)  # removes the records, not the ids
    log.close()
    log = opened()
    log.append([Message(b"b", id="2"), Message(b"c", id="3")])
    assert values(log, 42)[-1:] == ["c"]
    assert (log.counters.duplicates, log.end) == (2, 43)


def test_id_that_the_protocol_uses_again_is_stored_again(opened: Open) -> None:
    log = opened()
    log.append([Message(b"a", id="1", redelivered=False)])
    log.append([Message(b"b", id="1", redelivered=False)])
    assert values(log) == ["a", "b"]


def test_backpressure_refuses_after_the_timeout_and_accepts_after_a_release(opened: Open) -> None:
    log = opened(limit=64_000)
    with pytest.raises(LogFullError):
        fill(log, 100)
    end = log.end
    assert values(log) == values(log, 0, end)
    log.release(log.plan(0, 1000))
    log.append(messages("after"), timeout=0)
    assert values(log, end) == ["after"]


def test_backpressure_blocks_until_a_release(opened: Open) -> None:
    log = opened(limit=64_000)
    with pytest.raises(LogFullError):
        fill(log, 100)
    end = log.plan(0, 1000)
    blocked = threading.Thread(target=lambda: log.append([Message(b"." * 30_000)]))
    blocked.start()

    def stored() -> bool:
        log.release(end)
        return log.end > end

    wait_until(stored)
    blocked.join()


def test_drop_newest_refuses_and_counts(opened: Open) -> None:
    log = opened(limit=64_000, overflow="drop_newest")
    accepted = sum(log.submit([Message(b"." * 1000)], lambda: None) for _ in range(100))
    assert 0 < accepted < 100
    assert log.counters.dropped_newest == 100 - accepted


def test_drop_oldest_removes_what_no_epoch_contains(opened: Open) -> None:
    log = opened(limit=64_000, overflow="drop_oldest")
    fill(log, 20)
    planned = log.plan(0, 10)
    fill(log, 200)
    assert [value[:4] for value in values(log, 0, planned)] == [f"{number:04d}" for number in range(10)]
    assert values(log)[-1].startswith("0199")
    assert log.counters.dropped_oldest == 220 - len(values(log))
    assert sum(file.stat().st_size for file in log._directory.glob("*.wal")) <= 64_000


def test_backlog_has_the_records_after_the_last_committed_epoch(opened: Open) -> None:
    log = opened()
    log.append(messages("a", "b", "c", "d"))
    assert log.reception() == Reception(4, 4, 0, 0, 0, backlog=4)
    log.plan(0, 3)
    assert log.reception().backlog == 4
    log.release(3)
    assert log.reception().backlog == 1
    log.close()
    assert opened().reception().stored == 4


def test_backlog_has_no_dropped_records(opened: Open) -> None:
    log = opened(limit=64_000, overflow="drop_oldest")
    fill(log, 20)
    log.plan(0, 10)
    fill(log, 200)
    reception = log.reception()
    assert reception.dropped > 0
    assert reception.backlog == 220 - reception.dropped == len(values(log))


@pytest.mark.parametrize("overflow", ["backpressure", "drop_newest", "drop_oldest"])
def test_disk_is_bounded_under_every_policy(opened: Open, tmp_path: Path, overflow: Overflow) -> None:
    log = opened(limit=64_000, overflow=overflow)
    for _ in range(300):
        log.submit([Message(b"." * 700)], lambda: None, timeout=0)
    log.close()
    assert sum(file.stat().st_size for file in tmp_path.glob("*.wal")) <= 64_000
    counters = log.counters
    assert counters.received == 300 == counters.stored + counters.dropped_newest + counters.refused
    assert len(values(log)) == counters.stored - counters.dropped_oldest


def test_message_of_half_the_limit_is_refused_and_counted(opened: Open) -> None:
    log = opened(limit=64_000)
    with pytest.raises(MessageTooLargeError):
        log.append([Message(b"." * 40_000)])
    assert (log.counters.too_large, log.end) == (1, 0)


def test_planned_epoch_is_bounded_by_records_and_end(opened: Open) -> None:
    log = opened()
    log.append(messages(*"abcdef"))
    assert [log.plan(0, 4), log.plan(4, 4), log.plan(6, 4), log.plan(0, 100, final=5)] == [4, 6, 6, 5]


def test_failure_of_the_receiver_reaches_the_query(opened: Open) -> None:
    log = opened()
    log.fail(SourceError("the broker is gone"))
    with pytest.raises(SourceError, match="the broker is gone"):
        log.plan(0, 1)
    with pytest.raises(LogClosedError):
        log.append(messages("a"))


def test_closed_log_refuses_messages(opened: Open) -> None:
    log = opened()
    log.close()
    with pytest.raises(LogClosedError):
        log.append(messages("a"))


class _BlockedReceiver:
    """A receiver whose thread waits for room in the log; `stop` joins the thread, as those of connectors do."""

    def start(self, log: WriteAheadLog) -> None:
        self.thread = threading.Thread(target=self._receive, args=(log,), daemon=True)
        self.thread.start()

    def settle(self) -> None: ...

    def stop(self) -> None:
        self.thread.join(10)
        self.stopped = not self.thread.is_alive()

    def _receive(self, log: WriteAheadLog) -> None:
        with suppress(LogClosedError):
            while True:
                log.submit([Message(b"." * 1000)], lambda: None)


def test_source_with_a_full_log_stops(opened: Open) -> None:
    log, receiver = opened(limit=64_000), _BlockedReceiver()
    receiver.start(log)
    wait_until(lambda: log.end > 30)
    LogEnumerator(log, receiver, "tx", 10).close()
    assert receiver.stopped


def test_many_threads_append_at_the_same_time(opened: Open) -> None:
    log = opened(fsync="never")

    def work(name: str) -> None:
        for number in range(100):
            log.append(messages(f"{name}{number}"))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = values(log)
    assert sorted(stored) == sorted(f"{name}{number}" for name in "abcd" for number in range(100))
    assert [value for value in stored if value[0] == "a"] == [f"a{number}" for number in range(100)]
