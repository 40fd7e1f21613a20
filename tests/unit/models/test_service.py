"""Models behind an HTTP service, with a real server that is slow, down or wrong: no row is lost."""

from __future__ import annotations

import datetime
import decimal
import threading
from typing import Any

import pyarrow
import pytest
from tests.support.model_service import Answer, double, serve

from headrace.models.service import Service, ServiceHandler
from headrace.models.worker import Predictions

RISK = pyarrow.schema([("risk", pyarrow.float64())])


def open_handler(
    url: str, output: pyarrow.Schema = RISK, **options: Any
) -> tuple[ServiceHandler, list[float]]:
    """Return a handler, and the list of its pauses, which take no time."""
    values: dict[str, Any] = {"token": None, "timeout": 30.0, "batch": 4, "concurrency": 1, "retries": 2}
    values |= {"failures": 100, "pause": 3600.0, "fallback": None, **options}
    pauses: list[float] = []
    handler = ServiceHandler(Service(url, **values), output, _sleep=pauses.append)
    handler.enter()
    return handler, pauses


def amounts(*values: float | None) -> pyarrow.Table:
    return pyarrow.table({"amount": pyarrow.array(values, pyarrow.float64())})


def outcome(predictions: Predictions) -> tuple[dict[int, Any], dict[int, str]]:
    """Return the values of the first column by row, and the reasons of the rows that failed."""
    values = dict(zip(predictions.origin, predictions.columns[0].to_pylist(), strict=True))
    return values, {number: failure.reason for number, failure in predictions.failures.items()}


def test_rows_are_sent_in_requests_of_limited_size_and_keep_their_order() -> None:
    with serve() as server:
        handler, _ = open_handler(server.url, token="secret")
        values, failed = outcome(handler.predict(amounts(*range(10))))
    assert (values, failed) == ({n: 2.0 * n for n in range(10)}, {})
    assert [len(rows) for rows in server.requests] == [4, 4, 2]
    assert server.headers[0]["Authorization"] == "Bearer secret"


def test_the_number_of_concurrent_requests_is_limited() -> None:
    meeting = threading.Barrier(3, timeout=60)

    def meet(rows: list[dict[str, Any]]) -> Answer:
        meeting.wait()  # passed by three requests at once only
        return double(rows)

    with serve(meet) as server:
        handler, _ = open_handler(server.url, batch=1, concurrency=3)
        values, _ = outcome(handler.predict(amounts(*range(9))))
    assert values == {n: 2.0 * n for n in range(9)}
    assert server.most == 3


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((500, b"out of memory"), "answers 500 Internal Server Error: out of memory"),
        ((404, b""), "answers 404 Not Found"),
        ((200, b"<html>"), "answers no JSON: <html>"),
        ((200, {"error": "x"}), "answers without a list of `predictions`"),
        ((200, {"predictions": [1.0]}), "answers 1 predictions for 2 rows"),
        ((302, b""), "answers 302 Found"),
    ],
)
def test_a_service_that_fails_is_retried_and_its_rows_are_failures(answer: Answer, reason: str) -> None:
    with serve(lambda rows: answer) as server:
        handler, pauses = open_handler(server.url)
        values, failed = outcome(handler.predict(amounts(1.0, 2.0)))
    assert values == {}
    assert sorted(failed) == [0, 1]
    assert reason in failed[0]
    assert failed[0].endswith("(3 attempts)")
    assert (len(server.requests), len(pauses)) == (3, 2)
    assert pauses[0] < pauses[1]


def test_a_retry_that_succeeds_loses_nothing() -> None:
    with serve(lambda rows: (503, b""), lambda rows: (200, b"{"), double) as server:
        handler, _ = open_handler(server.url)
        values, failed = outcome(handler.predict(amounts(1.0, 2.0)))
    assert (values, failed) == ({0: 2.0, 1: 4.0}, {})


def test_a_slow_service_is_not_awaited() -> None:
    with serve() as server:
        server.behaviours = [server.hang]
        handler, _ = open_handler(server.url, timeout=0.05, retries=1)
        values, failed = outcome(handler.predict(amounts(1.0)))
    assert values == {}
    assert "does not answer" in failed[0]


def test_a_service_that_is_down_is_not_called_again_until_a_pause_is_over() -> None:
    with serve() as server:
        url = server.url
    handler, pauses = open_handler(url, batch=1, retries=1, failures=3)
    values, failed = outcome(handler.predict(amounts(*range(10))))
    assert values == {}
    assert sorted(failed) == list(range(10))
    assert "does not answer" in failed[0]
    assert all("is not called for a while" in failed[number] for number in range(2, 10))
    assert len(pauses) == 2  # after the first failure of each of two rows


def test_the_service_is_called_again_after_a_pause() -> None:
    with serve(lambda rows: (500, b""), lambda rows: (500, b""), double) as server:
        handler, _ = open_handler(server.url, batch=1, retries=0, failures=2, pause=0.0)
        values, failed = outcome(handler.predict(amounts(*range(5))))
    assert sorted(failed) == [0, 1]
    assert values == {2: 4.0, 3: 6.0, 4: 8.0}


def test_rows_of_a_service_that_fails_have_the_fallback() -> None:
    with serve(double, lambda rows: (500, b"")) as server:
        handler, _ = open_handler(server.url, batch=2, retries=0, fallback={"risk": 0.5})
        predictions = handler.predict(amounts(1.0, 2.0, 3.0))
    assert outcome(predictions) == ({0: 2.0, 1: 4.0, 2: 0.5}, {})
    assert predictions.versions.to_pylist() == [None, None, "fallback"]


def test_only_the_rows_that_a_service_rejects_are_failures() -> None:
    def validate(rows: list[dict[str, Any]]) -> Answer:
        return (422, b"no amount") if any(row["amount"] is None for row in rows) else double(rows)

    with serve(validate) as server:
        handler, pauses = open_handler(server.url, batch=8, fallback={"risk": 0.5})
        values, failed = outcome(handler.predict(amounts(1.0, None, 3.0, 4.0, 5.0, float("nan"))))
    assert values == {0: 2.0, 2: 6.0, 3: 8.0, 4: 10.0}
    assert {number: reason.partition(" answers ")[2] for number, reason in failed.items()} == {
        1: "422 Unprocessable Entity: no amount",
        5: "422 Unprocessable Entity: no amount",
    }
    assert pauses == []


def test_a_prediction_that_does_not_fit_the_output_fails_its_row() -> None:
    with serve(lambda rows: (200, [1.0, "high", None, 4])) as server:
        handler, _ = open_handler(server.url)
        values, failed = outcome(handler.predict(amounts(1.0, 2.0, 3.0, 4.0)))
    assert values == {0: 1.0, 3: 4.0}
    assert "for column `risk`" in failed[1]
    assert sorted(failed) == [1, 2]


def test_predictions_are_objects_or_lists_for_several_columns_and_have_a_version() -> None:
    output = pyarrow.schema([("label", pyarrow.string()), ("risk", pyarrow.float64())])
    answer = {"predictions": [{"risk": 0.5, "label": "a"}, ["b", 1.5]], "model_version": 7}
    with serve(lambda rows: (200, answer)) as server:
        handler, _ = open_handler(server.url, output)
        predictions = handler.predict(amounts(1.0, 2.0))
    assert [column.to_pylist() for column in predictions.columns] == [["a", "b"], [0.5, 1.5]]
    assert predictions.versions.to_pylist() == ["7", "7"]


def test_values_that_json_does_not_have_are_sent_as_text_and_numbers() -> None:
    rows = pyarrow.table(
        {
            "at": [datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.UTC)],
            "price": [decimal.Decimal("1.50")],
            "raw": [b"\x01\xff"],
            "list": [[1.0, float("inf")]],
        }
    )
    with serve(lambda rows: (200, [0.0])) as server:
        open_handler(server.url)[0].predict(rows)
    expected = {"at": "2026-03-02T09:00:00+00:00", "price": 1.5, "raw": "01ff", "list": [1.0, None]}
    assert server.requests == [[expected]]
