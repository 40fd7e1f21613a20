"""Alerts: conditions, firing and resolved states, grouping, silence and channels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.support.doc_blocks import blocks_of

from headrace.errors import OptionError
from headrace.jobs.api.models import AlertModel
from headrace.jobs.store.database import Database
from headrace.jobs.store.schema import create_tables
from headrace.metrics.alerts.engine import AlertEngine
from headrace.metrics.alerts.notify import Notification
from headrace.metrics.alerts.rules import AlertRule, AlertSettings, Kind, load_settings
from headrace.metrics.alerts.store import AlertStore
from headrace.metrics.history import History

MISMATCH = {"step": "out", "epoch": 7, "expected": 10, "actual": 9}


class Recorder:
    """Keeps notifications."""

    def __init__(self) -> None:
        self.sent: list[Notification] = []

    def send(self, notification: Notification) -> None:
        self.sent.append(notification)

    @property
    def titles(self) -> list[str]:
        return [notification.title.removeprefix("[headrace] ") for notification in self.sent]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AlertStore]:
    database = Database(str(tmp_path / "jobs.db"))
    create_tables(database)
    yield AlertStore(database)
    database.close()


def engine(store: AlertStore, *rules: AlertRule, wait: str = "0 seconds") -> tuple[AlertEngine, Recorder]:
    recorder = Recorder()
    settings = AlertSettings(rules=list(rules), group_wait=wait)
    return AlertEngine(settings, store, [recorder], History(store._database)), recorder


def job(state: str = "running", name: str = "fraud", **metrics: Any) -> dict[str, Any]:
    return {"id": name, "name": name, "state": state, "error": "boom", "metrics": metrics}


LAG = AlertRule(alert="lag", above=100)


def test_an_alert_fires_once_and_is_resolved_once(store: AlertStore) -> None:
    alerts, recorder = engine(store, LAG)
    for second, lag in enumerate([50, 150, 170, 90, 80]):
        alerts.evaluate([job(lag=lag)], float(second))
    assert recorder.titles == ["fraud: lag firing", "fraud: lag resolved"]
    [alert] = store.of("fraud")
    assert (alert.state, alert.since, alert.resolved) == ("resolved", 1.0, 3.0)


def test_text_of_a_firing_alert_has_the_current_value(store: AlertStore) -> None:
    alerts, recorder = engine(store, LAG, wait="10 seconds")
    for second, lag in [(0, 150), (5, 170), (10, 190), (20, 230)]:
        alerts.evaluate([job(lag=lag)], float(second))
    assert [sent.text for sent in recorder.sent] == ["firing: lag: 190 records are not read"]
    [firing], [stored] = alerts.firing(), store.of("fraud")
    assert firing == stored
    assert (stored.value, stored.message, stored.since) == (230.0, "230 records are not read", 0.0)


def test_text_of_a_mismatch_survives_a_new_attempt(store: AlertStore) -> None:
    alerts, _ = engine(store, AlertRule(alert="row_accounting"))
    alerts.evaluate([job(mismatches=1) | {"mismatches": [MISMATCH]}], 1.0)
    alerts.evaluate([job(mismatches=1) | {"mismatches": []}], 2.0)
    [alert] = store.of("fraud")
    assert "`out`, epoch 7: expected 10, accounted for 9" in alert.message


def test_a_condition_has_to_hold_for_some_time(store: AlertStore) -> None:
    alerts, recorder = engine(store, AlertRule(alert="lag", above=100, for_="10 seconds"))
    for second, lag in [(0, 150), (5, 90), (6, 150), (15, 150)]:
        alerts.evaluate([job(lag=lag)], float(second))
    assert recorder.titles == []
    alerts.evaluate([job(lag=150)], 16.0)
    assert recorder.titles == ["fraud: lag firing"]


def test_alerts_of_a_job_are_grouped(store: AlertStore) -> None:
    alerts, recorder = engine(store, LAG, AlertRule(alert="latency", above=1), wait="10 seconds")
    alerts.evaluate([job(lag=150)], 0.0)
    alerts.evaluate([job(lag=150, latency_ms={"p99": 2500})], 5.0)
    assert recorder.titles == []
    alerts.evaluate([job(lag=150, latency_ms={"p99": 2500})], 10.0)
    assert recorder.titles == ["fraud: lag firing, latency firing"]


def test_a_silence_holds_the_notification_back_until_it_ends(store: AlertStore) -> None:
    alerts, recorder = engine(store, LAG)
    store.silence(60.0, "ada", "maintenance", "fraud", None)
    alerts.evaluate([job(lag=150), job(name="other", lag=150)], 0.0)
    assert recorder.titles == ["other: lag firing"]
    alerts.evaluate([job(lag=150), job(name="other", lag=150)], 61.0)
    assert recorder.titles[1:] == ["fraud: lag firing"]


def test_an_alert_that_is_resolved_while_silenced_is_never_sent(store: AlertStore) -> None:
    alerts, recorder = engine(store, LAG)
    store.silence(60.0, "ada", "", None, "lag")
    for second, lag in [(0, 150), (1, 50), (70, 50)]:
        alerts.evaluate([job(lag=lag)], float(second))
    assert recorder.titles == []


def test_a_silence_holds_the_resolution_back_until_it_ends(store: AlertStore) -> None:
    alerts, recorder = engine(store, LAG)
    alerts.evaluate([job(lag=150)], 0.0)
    store.silence(60.0, "ada", "maintenance", "fraud", None)
    for second in (1.0, 59.0):
        alerts.evaluate([job(lag=50)], second)
    assert recorder.titles == ["fraud: lag firing"]
    assert AlertModel(**store.of("fraud")[0].as_json()).notified
    restarted, recorder = engine(store, LAG)
    for second in (60.0, 61.0):
        restarted.evaluate([job(lag=50)], second)
    assert recorder.titles == ["fraud: lag resolved"]


def test_a_silence_also_holds_back_what_waits_for_the_group(store: AlertStore) -> None:
    alerts, recorder = engine(store, LAG, wait="10 seconds")
    alerts.evaluate([job(lag=150)], 0.0)
    store.silence(60.0, "ada", "", None, None)
    alerts.evaluate([job(lag=150)], 10.0)
    assert recorder.titles == []


def test_a_new_service_sends_what_the_last_one_had_not_sent(store: AlertStore) -> None:
    first, recorder = engine(store, LAG, wait="10 seconds")
    first.evaluate([job(lag=150)], 0.0)
    second, recorder_of_second = engine(store, LAG, wait="10 seconds")
    for moment in (5.0, 15.0):
        second.evaluate([job(lag=150)], moment)
    second.evaluate([job(lag=50)], 20.0)
    third, recorder_of_third = engine(store, LAG, wait="10 seconds")
    for moment in (25.0, 35.0, 45.0):
        third.evaluate([job(lag=50)], moment)
    sent = [each.titles for each in (recorder, recorder_of_second, recorder_of_third)]
    assert sent == [[], ["fraud: lag firing"], ["fraud: lag resolved"]]


def test_an_alert_that_ends_before_the_group_is_sent_is_notified_as_resolved(store: AlertStore) -> None:
    alerts, recorder = engine(store, LAG, wait="10 seconds")
    for second, lag in [(0, 150), (5, 50), (10, 50), (20, 50)]:
        alerts.evaluate([job(lag=lag)], float(second))
    assert recorder.titles == ["fraud: lag resolved"]


def test_a_mismatch_fires_at_once_and_is_resolved_after_the_period(store: AlertStore) -> None:
    alerts, recorder = engine(store, AlertRule(alert="row_accounting", within="1 minute"))
    alerts.evaluate([job(mismatches=0)], 0.0)
    alerts.evaluate([job(mismatches=1) | {"mismatches": [MISMATCH]}], 1.0)
    assert recorder.titles == ["fraud: row_accounting firing"]
    assert "`out`, epoch 7: expected 10, accounted for 9" in recorder.sent[0].text
    alerts.evaluate([job(mismatches=1)], 30.0)
    alerts.evaluate([job(mismatches=1)], 62.0)
    assert recorder.titles[1:] == ["fraud: row_accounting resolved"]


def test_a_new_service_does_not_repeat_the_alerts_of_the_last_one(store: AlertStore) -> None:
    rules = (AlertRule(alert="row_accounting", within="1 minute"), LAG)
    first, _ = engine(store, *rules)
    first.evaluate([job(mismatches=1, lag=150)], 1.0)
    second, recorder = engine(store, *rules)
    second.evaluate([job(mismatches=1, lag=150)], 2.0)
    assert "firing" not in " ".join(recorder.titles)
    second.evaluate([job(mismatches=2, lag=50)], 3.0)
    assert any("lag resolved" in title for title in recorder.titles)


def test_restarts_within_a_period_fire(store: AlertStore) -> None:
    alerts, recorder = engine(store, AlertRule(alert="restarts", above=1, within="1 minute"))
    for second, restarts in [(0, 0), (10, 1), (200, 2), (210, 3)]:
        alerts.evaluate([job(restarts=restarts)], float(second))
    assert recorder.titles == ["fraud: restarts firing"]


def test_rules_with_different_periods_count_separately(store: AlertStore) -> None:
    short = AlertRule(alert="restarts", above=5, within="1 minute", name="short")
    long = AlertRule(alert="restarts", above=1, within="1 hour", name="long")
    alerts, recorder = engine(store, short, long)
    for second, restarts in [(0, 0), (100, 1), (200, 1), (300, 2)]:
        alerts.evaluate([job(restarts=restarts)], float(second))
    assert recorder.titles == ["fraud: long firing"]


def test_a_new_service_does_not_count_old_restarts(store: AlertStore) -> None:
    rule = AlertRule(alert="restarts", above=1, within="1 minute")
    History(store._database).add("fraud", 100.0, {"restarts": 5})
    alerts, recorder = engine(store, rule)
    ended = job("failed", name="ended", restarts=5) | {"changed": 100.0}
    alerts.evaluate([job(restarts=5), ended], 1000.0)
    assert recorder.titles == []
    alerts.evaluate([job(restarts=7), ended], 1001.0)
    assert recorder.titles == ["fraud: restarts firing"]


def test_a_new_service_counts_restarts_since_the_last_sample(store: AlertStore) -> None:
    History(store._database).add("fraud", 100.0, {"restarts": 5})
    alerts, recorder = engine(store, AlertRule(alert="restarts", above=1, within="1 minute"))
    alerts.evaluate([job(restarts=7)], 1000.0)
    assert recorder.titles == ["fraud: restarts firing"]


def test_the_time_without_a_run_is_not_a_time_without_data(store: AlertStore) -> None:
    alerts, recorder = engine(store, AlertRule(alert="no_data", above=30))
    for second, state in [(0, "running"), (10, "stopped"), (500, "running"), (520, "running")]:
        alerts.evaluate([job(state, rows_in=5)], float(second))
    assert recorder.titles == []


def test_no_data_fires_and_is_resolved_by_a_row(store: AlertStore) -> None:
    alerts, recorder = engine(store, AlertRule(alert="no_data", above=30))
    for second, rows in [(0, 5), (20, 5), (31, 5), (40, 6)]:
        alerts.evaluate([job(rows_in=rows)], float(second))
    assert recorder.titles == ["fraud: no_data firing", "fraud: no_data resolved"]


def test_a_job_that_does_not_run_has_no_lag(store: AlertStore) -> None:
    alerts, recorder = engine(store, LAG, AlertRule(alert="failed"))
    alerts.evaluate([job(lag=150)], 0.0)
    alerts.evaluate([job("failed", lag=150)], 1.0)
    assert recorder.titles == ["fraud: lag firing", "fraud: lag resolved, failed firing"]


def test_a_rule_of_one_job_leaves_others_alone(store: AlertStore) -> None:
    alerts, recorder = engine(store, AlertRule(alert="lag", above=1, job="fraud"))
    alerts.evaluate([job(lag=5), job(name="other", lag=5)], 0.0)
    assert recorder.titles == ["fraud: lag firing"]


def test_settings_are_read_from_a_document(tmp_path: Path) -> None:
    file = tmp_path / "alerts.yaml"
    file.write_text(
        "rules: [{alert: lag, above: 1000, for: 1 minute}]\n"
        "notify: {email: {host: mail, from: a@b, to: [c@d], user: u, password: '${SMTP}'}}\n"
    )
    settings = load_settings(file, {"SMTP": "hush"})
    assert settings.rules[0].seconds == 60
    assert settings.notify.email is not None
    assert settings.notify.email.password == "hush"
    assert "hush" not in repr(settings)


@pytest.mark.parametrize(
    "text", ["rules: [{alert: lagg}]", "rules: [{alert: lag, for: soon}]", "rules: [", "notify: {pager: {}}"]
)
def test_wrong_settings_are_rejected(tmp_path: Path, text: str) -> None:
    file = tmp_path / "alerts.yaml"
    file.write_text(text)
    with pytest.raises(OptionError, match=r"alerts\.yaml"):
        load_settings(file)


def test_two_rules_of_one_name_for_the_same_jobs_are_rejected(tmp_path: Path) -> None:
    file = tmp_path / "alerts.yaml"
    file.write_text("rules: [{alert: lag, above: 10}, {alert: lag, above: 100, job: fraud}]")
    with pytest.raises(OptionError, match="two rules for the same jobs are named `lag`; set `name`"):
        load_settings(file)
    file.write_text("rules: [{alert: lag, job: a}, {alert: lag, job: b}, {alert: lag, name: any lag}]")
    assert len(load_settings(file).rules) == 3


def test_the_document_on_the_page_is_valid(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "alerts.md"
    [block] = [block for block in blocks_of(page) if block.language == "yml"]
    file = tmp_path / "alerts.yaml"
    file.write_text(block.text)
    environment = {"ALERT_URL": "https://example.org/alerts", "SMTP_PASSWORD": "hush"}
    assert {rule.alert for rule in load_settings(file, environment).rules} == set(get_args(Kind))


def test_a_rule_is_added_and_deleted_while_the_service_runs(store: AlertStore) -> None:
    alerts, _ = engine(store)
    alerts.evaluate([job(lag=5_000)], now=1.0)
    assert alerts.firing() == []
    added = store.add_rule(AlertRule(alert="lag", above=1_000, for_="1 second"), "ana")
    assert [(each.owner, each.rule.above, each.rule.for_) for each in store.rules()] == [
        ("ana", 1_000, "1 second")
    ]
    alerts.evaluate([job(lag=5_000)], now=2.0)
    alerts.evaluate([job(lag=5_000)], now=4.0)
    assert [alert.rule for alert in alerts.firing()] == ["lag"]
    assert store.delete_rule(added.id)
    assert not store.delete_rule(added.id)
    alerts.evaluate([job(lag=5_000)], now=5.0)
    assert alerts.firing() == []
    assert [alert.state for alert in store.recent()] == ["resolved"]
