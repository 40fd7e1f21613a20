"""Rules that every connector follows, checked for all that are installed: no list to extend for a new one."""

from __future__ import annotations

import ast
import doctest
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.waiting import wait_until

from headrace.connectors.base import Connector, ReadContext
from headrace.connectors.registry import connector, kinds
from headrace.connectors.roles import misplaced_options
from headrace.connectors.write_ahead_log import Message
from headrace.connectors.write_ahead_log.log import WriteAheadLog
from headrace.connectors.write_ahead_log.options import LoggedSource
from headrace.connectors.write_ahead_log.records import decode
from headrace.connectors.write_ahead_log.source import LogReader
from headrace.steps.endpoints.describe import describe_connector

DOCS = Path(__file__).parents[3] / "docs"
LOGGED = [kind for kind in kinds() if issubclass(connector(kind), LoggedSource)]
MESSAGES = 400


def examples(kind: str) -> Iterator[Connector]:
    """Construct the connectors in the docstring of the option model."""
    model = connector(kind)
    namespace = {**vars(sys.modules[model.__module__]), model.__name__: model}
    for example in doctest.DocTestParser().get_examples(model.__doc__ or ""):
        for node in ast.walk(ast.parse(example.source)):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if called and node.func.id == model.__name__:  # type: ignore[attr-defined]
                yield eval(ast.unparse(node), namespace)  # our own docstring


@pytest.mark.parametrize("kind", kinds())
def test_options_survive_a_round_trip(kind: str) -> None:
    shown = list(examples(kind))
    assert shown, "the docstring has no example"
    for example in shown:
        options = example.model_dump(by_alias=True, exclude_unset=True)
        assert type(example)(**options) == example
        assert all(field.description for field in type(example).model_fields.values())


@pytest.mark.parametrize("kind", kinds())
def test_every_example_is_valid_in_a_role(kind: str) -> None:
    for example in examples(kind):
        assert any(not misplaced_options(example, role) for role in example.roles), example


@pytest.mark.parametrize("kind", kinds())
def test_guarantee_is_stated_and_documented(kind: str) -> None:
    package = sys.modules[connector(kind).__module__].__doc__ or ""
    assert re.search(r"(at least|at most|exactly) once|replayable|nothing is stored", package, re.I), package
    used = re.compile(rf"\bconnect\.{kind}\(|\b{kind}: ?(\{{|$)|`{kind}`", re.M)
    pages = [page for page in DOCS.rglob("*.md") if used.search(page.read_text())]
    assert pages, f"no page shows how to use {kind}"


@pytest.mark.parametrize("kind", kinds())
def test_secrets_are_not_shown(kind: str) -> None:
    for name, field in connector(kind).model_fields.items():
        if "SecretStr" in str(field.annotation):
            for example in examples(kind):
                value = {"X-Key": "hush"} if "Mapping" in str(field.annotation) else "hush"
                options = example.model_dump(by_alias=True, exclude_unset=True)
                secret = type(example)(**options, **{field.alias or name: value})
                assert "hush" not in f"{secret!r} {secret} {describe_connector(secret)}"


class Stub:
    """A receiver that has messages at once."""

    def __init__(self, first: int) -> None:
        self._first = first

    def start(self, log: WriteAheadLog) -> None:
        for number in range(self._first, self._first + MESSAGES):
            log.submit([Message(f"{number:04d}".encode() * 100, {})], lambda: None, timeout=0)
        wait_until(lambda: self._is_stored(log))

    def _is_stored(self, log: WriteAheadLog) -> bool:
        counters = log.counters
        return counters.received == counters.stored + counters.dropped_newest + counters.refused

    def settle(self) -> None: ...

    def stop(self) -> None: ...


def read(source: LoggedSource, place: Path, position: int) -> tuple[list[int], int]:
    """Plan, read and commit epochs from a position on, as Spark does; return the messages and the end."""
    reader = LogReader(source)
    enumerator = reader._open(ReadContext("p", "tx", None, None, str(place)))
    enumerator.available()
    numbers: list[int] = []
    start = {"position": position} if position else enumerator.initial()
    while (end := enumerator.latest(start)) != start:
        again = enumerator.splits(start, end)
        assert enumerator.splits(start, end) == again
        numbers += [int(record.value[:4]) for split in again for record in decode(split[8:])]
        enumerator.commit(end)
        start = end
    enumerator.close()
    return numbers, start["position"]


@pytest.mark.parametrize("overflow", ["backpressure", "drop_newest", "drop_oldest"])
@pytest.mark.parametrize("kind", LOGGED)
def test_logged_source_restarts_and_is_bounded(
    kind: str, overflow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = next(example for example in examples(kind) if not misplaced_options(example, "source"))
    options: dict[str, Any] = example.model_dump(by_alias=True, exclude_unset=True)
    source = type(example)(**{**options, "overflow": overflow, "log_limit": "64 KB", "max_per_batch": 50})
    assert isinstance(source, LoggedSource)
    runs, position = [], 0
    for run in range(2):
        monkeypatch.setattr(type(source), "receiver", lambda *_: Stub(run * MESSAGES))  # noqa: B023
        numbers, position = read(source, tmp_path, position)
        assert sum(file.stat().st_size for file in (tmp_path / "log").glob("*.wal")) <= 64 * 1024
        assert numbers == sorted(set(numbers))
        runs.append(numbers)
    assert all(len(numbers) < MESSAGES for numbers in runs)
    assert runs[1][-1] == 2 * MESSAGES - 1 if overflow == "drop_oldest" else runs[1][0] == MESSAGES


@pytest.mark.parametrize("kind", LOGGED)
def test_metadata_are_typed(kind: str) -> None:
    model = connector(kind)
    assert issubclass(model, LoggedSource)
    for field, type_ in model.metadata_types.items():
        assert re.fullmatch(r"[a-z_]+", field)
        assert type_ in ("string", "int", "bigint", "boolean", "timestamp", "map<string,string>"), (
            field,
            type_,
        )
