"""The public names and their signatures are those of the snapshot, and every returned stage is exported."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from tests.support.public_api import SNAPSHOT, public_api

import headrace
from headrace.streams import keyed, results, rows, stream, tables, timed, windowed

STAGES = {
    name: each
    for module in (rows, stream, timed, keyed, windowed, tables, results)
    for name, each in vars(module).items()
    if inspect.isclass(each) and issubclass(each, rows.Stage) and each.__module__ == module.__name__
}


def returned_names() -> Iterator[str]:
    """Yield the names in the return types of all public members of stages and pipelines."""
    for each in (headrace.Pipeline, *STAGES.values()):
        for name, member in vars(each).items():
            function = member.fget if isinstance(member, property) else member
            if not name.startswith("_") and callable(function):
                yield from re.findall(r"\w+", str(inspect.signature(function).return_annotation))


def test_the_public_api_is_that_of_the_snapshot() -> None:
    assert public_api().splitlines() == SNAPSHOT.read_text().splitlines(), (
        "the public API has changed: if that is intended, run `make api` and name the change in CHANGELOG.md"
    )


def test_every_stage_that_a_verb_returns_is_exported() -> None:
    assert {name for name in returned_names() if name in STAGES} <= set(headrace.__all__)


def test_every_stage_of_a_step_is_exported() -> None:
    private = {"Stage", "Rows", "TimedVerbs"}
    assert {name for name in STAGES if not name.startswith("_")} - private <= set(headrace.__all__)
