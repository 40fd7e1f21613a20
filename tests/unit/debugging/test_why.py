"""`headrace why` without Spark: the selection of steps and the syntax of keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import Pipeline, connect, patterns, windows
from headrace.checkpoints.keys import key_of
from headrace.debugging.why import why_of
from headrace.errors import OptionError


def pipeline() -> Pipeline:
    made = Pipeline("payments")
    tx = made.read("tx", connect.memory(), schema="card string, amount int, ts timestamp").event_time("ts")
    rise = patterns.step("low", "amount < 1").followed_by("high", "amount > 10")
    tx.key_by("card").match("rise", rise, within="1 hour").write("a", connect.memory())
    tx.key_by("card").window(windows.tumbling("1 hour")).aggregate("totals", n="count(*)").write(
        "b", connect.memory()
    )
    return made


@pytest.mark.parametrize(
    ("arguments", "columns", "key"),
    [
        (["4711"], ["card"], {"card": "4711"}),
        (["card=4711"], ["card"], {"card": "4711"}),
        (["a=b,c"], ["card"], {"card": "a=b,c"}),
        (["1,2"], ["a", "b"], {"a": "1", "b": "2"}),
        (["1", "2"], ["a", "b"], {"a": "1", "b": "2"}),
        (["b=2", "a=1"], ["a", "b"], {"a": "1", "b": "2"}),
        ([], [], {}),
    ],
)
def test_a_key_as_people_write_it(arguments: list[str], columns: list[str], key: dict[str, str]) -> None:
    assert key_of(arguments, columns) == key


@pytest.mark.parametrize(
    ("arguments", "columns", "message"),
    [
        ([], ["card"], "--key: expected card, got none\n  hint: write --key card=..."),
        (
            ["1"],
            ["a", "b"],
            "expected a and b, got 1\n  hint: write --key a=... --key b=..., or --key ...,...",
        ),
        (["a=1", "c=2"], ["a", "b"], "unknown key column `c`\n  hint: Known: a, b"),
        (["1"], [], "the step has no key\n  hint: leave --key out"),
    ],
)
def test_a_key_that_does_not_fit(arguments: list[str], columns: list[str], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        key_of(arguments, columns)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("totals", "--step: `totals` has no pattern, detector or online model\n  hint: Known: rise"),
        ("rises", "--step: unknown step `rises`\n  hint: did you mean `rise`? Known: rise"),
        (None, "there is no checkpoint\n  hint: run the pipeline first"),
        ("rise", "there is no checkpoint\n  hint: run the pipeline first"),
    ],
)
def test_a_step_that_can_not_be_queried(step: str | None, message: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError) as caught:
        why_of(pipeline()._plan(), tmp_path, key=["4711"], step=step)
    assert message in str(caught.value)


def test_only_other_steps_have_run(tmp_path: Path) -> None:
    offsets = tmp_path / "queries" / "totals" / "spark" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").touch()
    with pytest.raises(OptionError, match=r"no step that can be explained has a checkpoint\n  hint: run the"):
        why_of(pipeline()._plan(), tmp_path, key=["4711"])


def test_a_pipeline_without_patterns(tmp_path: Path) -> None:
    plain = Pipeline("plain")
    plain.read("tx", connect.memory(), schema="a int").write("out", connect.memory())
    message = r"FILE: expected a step with a pattern, a detector or an online model; `plain` has none\n  hint: headrace state shows"
    with pytest.raises(OptionError, match=message):
        why_of(plain._plan(), tmp_path, key=["4711"])


def test_a_rule_is_queried_where_no_table_has_any(tmp_path: Path) -> None:
    message = r"--rule: no step of `payments` reads its patterns from a table\n  hint: remove --rule"
    with pytest.raises(OptionError, match=message):
        why_of(pipeline()._plan(), tmp_path, key=["4711"], rule="rise")
