"""Spark settings of real-time mode, and those that the user can override."""

from __future__ import annotations

import pytest

from headrace import Pipeline, connect
from headrace.runtime.real_time import settings as realtime


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    return settings_of(monkeypatch, {})


def settings_of(
    monkeypatch: pytest.MonkeyPatch, conf: dict[str, str], running: bool = False, tools: str = ""
) -> dict[str, str]:
    pipeline = Pipeline("p")
    rows = pipeline.read("tx", connect.kafka(servers="s:1", topic="t"), format="json", schema="k string")
    rows.write("out", connect.kafka(servers="s:1", topic="u"))
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", tools)
    monkeypatch.setattr(realtime, "active_session", lambda: object() if running else None)
    return realtime.session_settings(pipeline._plan(), conf)


def test_heap_has_its_full_size_from_the_start_and_large_regions(
    settings: dict[str, str],
) -> None:
    assert settings["spark.driver.memory"] == "1g"
    options = settings["spark.driver.extraJavaOptions"]
    assert options.startswith("-Xms1g -XX:+UseG1GC -Xmn128m -XX:G1HeapRegionSize=8m")


def test_memory_and_java_options_of_the_user_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    actual = settings_of(
        monkeypatch, {"spark.driver.memory": "3g", "spark.driver.extraJavaOptions": "-Da=b", "spark.x": "y"}
    )
    assert actual["spark.driver.memory"] == "3g"
    assert actual["spark.driver.extraJavaOptions"].startswith("-Xms3g ")
    assert actual["spark.driver.extraJavaOptions"].endswith(" -Da=b")
    assert actual["spark.x"] == "y"


def test_garbage_collector_of_the_user_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = {"spark.driver.extraJavaOptions": "-XX:+UseZGC"}
    assert settings_of(monkeypatch, theirs) == realtime.QUICK | theirs
    assert settings_of(monkeypatch, {}, tools="-XX:+UseSerialGC") == realtime.QUICK


def test_running_jvm_gets_no_java_options(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_of(monkeypatch, {}, running=True) == {}
