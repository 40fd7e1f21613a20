"""The example notebooks run, show one output for a run, and can be run twice."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Any]:
    """Return a function that executes a notebook in one kernel, which ends with the test."""
    clients: list[NotebookClient] = []

    def execute(name: str, times: int = 1) -> Any:
        notebook = nbformat.read(NOTEBOOKS / name, as_version=4)  # type: ignore[no-untyped-call]
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        notebook.cells = [deepcopy(cell) for _ in range(times) for cell in cells]
        client = NotebookClient(notebook, timeout=180, resources={"metadata": {"path": str(tmp_path)}})
        clients.append(client)
        client.execute()
        return notebook.cells

    yield execute
    for client in clients:
        if client.km is not None and client.km.has_kernel:
            client.km.shutdown_kernel(now=True)


def find(cells: list[Any], text: str) -> list[Any]:
    return [cell for cell in cells if text in cell.source]


def html_of(cell: Any) -> str:
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)


def test_first_steps_show_a_graph_a_status_and_tables_and_run_twice(kernel: Any) -> None:
    cells = kernel("first_steps.ipynb", times=2)
    first, second = cells[: len(cells) // 2], cells[len(cells) // 2 :]
    for half in (first, second):
        (declared,) = find(half, "Pipeline(")
        assert "data:image/svg+xml" in html_of(declared)
        (stream,) = [cell for cell in half if cell.source == "tx"]
        assert "<td" in html_of(stream)
        assert "timestamp" in html_of(stream)
        (run,) = find(half, "fraud.run(")
        assert len(run.outputs) == 1
        assert "drained" in html_of(run)
        assert "3 rows" in html_of(run)
        (table,) = [cell for cell in half if cell.source == "results"]
        assert "3 rows" in html_of(table)
        (handle,) = find(half, "fraud.start(")
        assert "rows in" in html_of(handle)
        assert "unknown key column `crad`" in find(half, "crad")[0].outputs[0].text


def test_cells_in_yaml_and_sql_show_the_graph_and_the_rows(kernel: Any) -> None:
    cells = kernel("yaml_and_sql.ipynb")
    graph, counted, selected = find(cells, "%%headrace")
    assert "data:image/svg+xml" in html_of(graph)
    assert "stream" in html_of(counted)
    assert "2 rows" in html_of(counted)
    assert "<b>long_words</b>" in html_of(selected)
    assert html_of(selected).count("<tr>") >= 3
