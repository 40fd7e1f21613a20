"""Online learning without a JVM, compared with River's own runs over the same rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from river import evaluate, metrics
from tests.support.learning import Key, Row, make_rows, make_spec, run_visits

from headrace.learning.runtime import LearnRuntime
from headrace.learning.state import describe_learned, stored_model
from headrace.models.expression import build_model
from headrace.processors.runtime import Emitted
from headrace.processors.times import END, BatchTime, to_datetime

ROWS = make_rows(400)
ARRIVALS = [((row["id"], row["amount"], row["age"], row["fraud"]), n) for n, row in enumerate(ROWS)]
THE_END = END // 1_000_000


def of(output: str, emitted: list[Emitted]) -> list[Any]:
    return [values for name, values, _ in emitted if name == output]


def offline(metric: Any) -> float:
    """Return River's progressive validation over the same rows."""
    pairs = ((({"amount": row["amount"], "age": row["age"]}), row["fraud"]) for row in ROWS)
    return float(
        evaluate.progressive_val_score(pairs, build_model(make_spec().expression or ""), metric).get()
    )


@pytest.mark.parametrize("batch", [1, 37, 400])
def test_progressive_metrics_equal_rivers_offline_run_whatever_the_micro_batches_are(batch: int) -> None:
    spec = make_spec(metrics=("Accuracy", "LogLoss"))
    visits = [(ARRIVALS[at : at + batch], at) for at in range(0, 400, batch)]
    emitted = list(run_visits(spec, [*visits, ([], THE_END)]))
    totals = {values[1]: values[3] for values in of("metrics", emitted)}
    assert totals == {"Accuracy": offline(metrics.Accuracy()), "LogLoss": offline(metrics.LogLoss())}
    assert [values[-1] for values in of("main", emitted)] == list(range(400))


def test_rows_that_arrive_out_of_order_are_learned_in_event_time_order() -> None:
    shuffled = [ARRIVALS[n ^ 3] for n in range(400)]
    in_order = list(run_visits(make_spec(), [(ARRIVALS, None), ([], THE_END)]))
    emitted = list(run_visits(make_spec(), [(shuffled[:200], None), (shuffled[200:], 190), ([], THE_END)]))
    assert emitted == in_order


def test_metrics_have_a_row_per_window_with_labels() -> None:
    emitted = list(run_visits(make_spec(), [(ARRIVALS, None), ([], THE_END)]))
    windows = of("metrics", emitted)
    first = ROWS[0]["ts"]
    assert [int((values[0]["start"] - to_datetime(0)).total_seconds()) for values in windows] == [
        0,
        100,
        200,
        300,
    ]
    assert first.year == 2026
    correct = [values[4] == values[3] for values in of("main", emitted) if values[4] is not None]
    # The first row is predicted by a model that has learned nothing.
    assert [values[4] for values in windows] == [100 - (400 - len(correct)), 100, 100, 100]
    assert sum(values[2] * values[4] for values in windows) == pytest.approx(sum(correct))


def test_drift_has_the_error_before_and_after() -> None:
    rows = make_rows(2000)
    arrivals = [((row["id"], row["amount"], row["age"], row["fraud"]), n) for n, row in enumerate(rows)]
    [drift, *_] = of("drift", list(run_visits(make_spec(), [(arrivals, None), ([], THE_END)])))
    assert 1000 < drift[1] < 1200
    assert drift[3] < drift[2]


def test_late_rows_have_their_reason() -> None:
    spec = make_spec()
    runtime = LearnRuntime(spec, "model", ahead=iter([False, True, False]))
    runtime.begin(Key(), None, BatchTime(10_000_000))
    row = Row(1, 2.0, 3.0, True)
    for time in (None, None, 9_999_999):
        runtime.row(row, time)
    assert runtime.end().content is None
    late = of("late", runtime.take()[0])
    assert [values[-1] for values in late] == ["no_event_time", "ahead_of_clock", "too_late"]
    assert [values[4] and values[4].total_seconds() for values in late] == [None, None, 0.000001]


def delayed_run(delay: int, arrivals: list[Any]) -> tuple[list[Any], float, int]:
    """Return the predictions, the accuracy and the labels without a row of a plain Python run."""
    model, metric, waiting, unmatched = build_model(make_spec().expression or ""), metrics.Accuracy(), {}, 0
    predictions = []
    for (number, amount, age, fraud), time in sorted(arrivals, key=lambda arrival: arrival[1]):
        if fraud is None:
            features = {"amount": amount, "age": age}
            predictions.append(model.predict_one(features))
            waiting[number] = (time, features, predictions[-1])
        elif number in waiting and waiting[number][0] + delay >= time:
            _, features, predicted = waiting.pop(number)
            if predicted is not None:
                metric.update(fraud, predicted)
            model.learn_one(features, fraud)
        else:
            unmatched += 1
    return predictions, metric.get(), unmatched


def test_labels_that_arrive_later_equal_a_plain_run() -> None:
    arrivals = []
    for number, row in enumerate(ROWS):
        arrivals.append(((number, row["amount"], row["age"], None), 2 * number))
        # A label arrives 11 to 99 seconds later, at odd times, so that no two rows have the same time.
        arrivals.append(((number, None, None, row["fraud"]), 2 * number + 11 + 2 * (number * 7 % 45)))
    spec = make_spec(on_at=0, label_delay=60_000_000)
    visits = [(arrivals[at : at + 100], at - 200) for at in range(0, 800, 100)]
    emitted = list(run_visits(spec, [*visits, ([], THE_END)]))
    predictions, accuracy, unmatched = delayed_run(60, arrivals)
    assert [values[4] for values in of("main", emitted)] == predictions
    assert of("metrics", emitted)[-1][3] == accuracy
    assert unmatched > 100
    assert Counter(values[-1] for values in of("late", emitted)) == {"no_row": unmatched}


def test_a_row_for_which_the_model_raises_is_a_dead_letter_and_the_others_are_learned() -> None:
    runtime = LearnRuntime(make_spec(), "model")
    runtime.begin(Key(), None, BatchTime(None))
    for number, amount in enumerate([1.0, "x", 3.0]):
        runtime.row(Row(number, amount, 30.0, True), number)
    content = runtime.end().content
    runtime.begin(Key(), content, BatchTime(END))
    emitted, [failed] = runtime.take()
    assert [values[0] for values in of("main", emitted)] == [0, 2]
    assert failed.row[0] == 1
    assert "TypeError" in failed.failure.reason


def test_a_model_without_labels_scores_rows() -> None:
    spec = make_spec(
        expression="anomaly.HalfSpaceTrees(seed=1, limits={'amount': (0, 100)})",
        features=("amount",),
        features_at=(1,),
        label_at=None,
        metrics=(),
        classifies=False,
    )
    emitted = list(run_visits(spec, [(ARRIVALS, None), ([], THE_END)]))
    scores = [values[4] for values in of("main", emitted)]
    assert scores[0] == 0
    assert max(scores) > 0.5
    assert not of("metrics", emitted)


def test_the_probability_is_that_of_true() -> None:
    emitted = list(run_visits(make_spec(probability=True), [(ARRIVALS, None), ([], THE_END)]))
    first, *others = [values[4] for values in of("main", emitted)]
    assert first is None or first == 0.5
    assert all(0 <= value <= 1 for value in others)
    assert of("metrics", emitted)[-1][3] == offline(metrics.Accuracy())


def test_state_is_described_and_has_the_model() -> None:
    runtime = LearnRuntime(make_spec(), "model")
    runtime.begin(Key(), None, BatchTime(None))
    for values, time in ARRIVALS:
        runtime.row(Row(*values), time * 1_000_000)
    content = runtime.end().content
    runtime.begin(Key(), content, BatchTime(350_000_000))
    update = runtime.end()
    assert update.content is not None
    assert update.event_due == 350_001_000
    assert update.buffered == -350
    assert '"model_rows": 350' in describe_learned(update.content)
    assert '"buffered": 50' in describe_learned(update.content)
    model, rows = stored_model(update.content)
    assert rows == 350
    assert model.predict_one({"amount": 90.0, "age": 30.0}) in (True, False)
