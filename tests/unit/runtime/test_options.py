"""Options of a run are validated before anything starts."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from headrace import Pipeline, connect
from headrace.errors import DocumentError, HeadraceError, PlanError
from headrace.streams.pipeline import collecting


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"evry": "1 s"}, "run: unknown option `evry`\n  hint: did you mean `every`?"),
        ({"until": "done"}, "until: expected stopped, caught_up, drained, got 'done'"),
        ({"mode": "batch"}, "mode: expected micro_batch, real_time, got 'batch'"),
        (
            {"guarantee": "always"},
            "guarantee: expected at_most_once, at_least_once, exactly_once, got 'always'",
        ),
        ({"every": "soon"}, "every: expected a duration, got 'soon'"),
        ({"standby": True, "fresh": True}, "standby: a standby resumes from the checkpoint of another run"),
        ({"until": "drained", "every": "1 s"}, "every: `every` cannot be combined with until='drained'"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, Any], text: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        Pipeline("p").run(**options)
    assert str(caught.value).startswith(text)


def test_run_while_the_command_line_loads_a_file_declares_its_options() -> None:
    with collecting() as pipelines:
        Pipeline("p").run(until="caught_up")
    [pipeline] = pipelines
    assert pipeline._declared_run is not None
    assert pipeline._declared_run.options.until == "caught_up"
    assert pipeline._declared_run.place.startswith("test_options.py:")


@pytest.mark.parametrize("method", ["check", "run", "start"])
def test_errors_at_the_public_api_have_no_internal_frames(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADRACE_TRACEBACK", raising=False)
    pipeline = Pipeline("p")
    pipeline.read("rows", connect.memory(), schema="v int").event_time("ts").write("out", connect.memory())
    with pytest.raises(PlanError) as caught:
        getattr(pipeline, method)()
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.name for frame in frames[1:]] == ["call"]
    assert caught.value.__suppress_context__


def test_errors_of_a_document_have_no_internal_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_TRACEBACK", raising=False)
    with pytest.raises(DocumentError) as caught:
        Pipeline.from_yaml("missing.yaml")
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.name for frame in frames[1:]] == ["from_yaml"]
    assert caught.value.__suppress_context__


def test_traceback_variable_keeps_the_internal_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TRACEBACK", "1")
    with pytest.raises(HeadraceError) as caught:
        Pipeline("p").check()
    assert len(traceback.extract_tb(caught.value.__traceback__)) > 2
