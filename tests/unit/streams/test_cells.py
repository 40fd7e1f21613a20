"""Errors of pipelines in notebook cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

CELL = """\
from headrace import Pipeline, connect
tx = Pipeline("p").read("tx", connect.memory(), schema="k string, v int")
tx.where("w > 1").write("out", connect.console())
"""


@pytest.fixture
def shell() -> Iterator[Any]:
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def test_the_place_of_an_error_is_the_cell_and_its_line(shell: Any) -> None:
    shell.run_cell("import headrace", store_history=True)
    shell.run_cell(CELL, store_history=True)
    error = shell.run_cell("tx._pipeline._plan()").error_in_exec
    assert str(error).startswith("cell [2], line 3: where after `tx`: unknown column `w`")
