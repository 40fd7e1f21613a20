"""The matrix of windows, triggers, modes and disorder is complete, and plan errors state the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.support.matrix.cells import DISORDERS, KINDS, MAY_LOSE, MODES, TRIGGERS, Cell, cells
from tests.support.matrix.expected import expected_outputs
from tests.support.matrix.streams import STREAMS
from tests.support.matrix.writing import case_of, content_of, document_of, texts
from tests.support.public_names import public

from headrace import Pipeline, triggers, windows, yaml
from headrace.errors import HeadraceError
from headrace.testing import read_case

REFUSED = [cell for cell in cells() if cell.refusal and cell.disorder == "in order"]
LOSSY = [
    Cell(kind, trigger, "accumulating", "in order")
    for kind in KINDS
    for trigger in TRIGGERS
    if "allow_loss" in trigger.emit and kind.word != "trailing"
]


def words_of(value: Any) -> set[str]:
    """All keys in a document."""
    if isinstance(value, Mapping):
        return set(value) | {word for inner in value.values() for word in words_of(inner)}
    return {word for inner in value for word in words_of(inner)} if isinstance(value, list) else set()


def plain(line: Any) -> dict[str, Any]:
    """A line of a script without its place in a file."""
    return {"line": type(line).__name__} | {
        n: v for n, v in vars(line).items() if n not in ("where", "places")
    }


def message(document: Mapping[str, Any]) -> str:
    with pytest.raises(HeadraceError) as refused:
        Pipeline._from_graph(yaml.from_mapping(document, file="cell.yaml", name="cell")).check()
    return str(refused.value)


@pytest.mark.slow
def test_there_is_a_case_or_a_refusal_for_every_cell() -> None:
    named = [line[6:] for text in texts().values() for line in text.splitlines() if line.startswith("name: ")]
    assert len(named) == len(set(named))
    assert set(named) == {cell.name for cell in cells() if not cell.refusal}
    assert len(list(cells())) == len(KINDS) * len(TRIGGERS) * len(MODES) * len(DISORDERS)


WITHOUT_CELLS = {"attached", "cumulating"}
"""Windows whose transcripts are written by hand: rows bring the window, or it consists of tumbling slices."""


def test_every_window_and_trigger_has_its_cells() -> None:
    kinds = {name.removesuffix("_window") for name in public(windows) if name.islower()}
    assert {kind.word for kind in KINDS} == kinds - WITHOUT_CELLS
    assert {word for trigger in TRIGGERS for word in words_of(trigger.emit)} >= {
        name for name in public(triggers) if name.islower() and name != "after_delay"
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.file)
def test_a_case_is_read_from_a_file_as_the_tests_read_it(kind: Any) -> None:
    """Tests build cases from mappings.

    One case of each kind is also read from YAML text and must be equal.
    """
    cell = next(cell for cell in cells(kind) if (cell.mode, cell.disorder) == ("retracting", "killed"))
    read, made = read_case(case_of(cell)), read_case(content_of(cell))
    assert read.graph == made.graph
    assert [plain(line) for line in read.script] == [plain(line) for line in made.script]


@pytest.mark.parametrize("cell", REFUSED, ids=lambda cell: cell.name.removesuffix(" / in order"))
def test_a_cell_that_the_contract_refuses_reports_the_reason(cell: Cell) -> None:
    output = message(document_of(cell))
    assert cell.refusal in output
    assert "hint" in output.lower() or "late rows are in .late" in output or "leave trigger" in output


@pytest.mark.parametrize("cell", LOSSY, ids=lambda cell: f"{cell.kind.file}-{cell.trigger.name}")
def test_a_trigger_that_may_lose_rows_is_refused_unless_the_user_allows_it(cell: Cell) -> None:
    document = document_of(cell)
    del document["steps"]["out"]["emit"]["allow_loss"]
    assert MAY_LOSE in message(document)


def test_the_streams_make_the_matrix_interesting() -> None:
    """Panes in every cell; merged sessions, retractions, late panes, late rows of every reason somewhere."""
    seen: set[tuple[Any, ...]] = set()
    silent = []
    for cell in cells():
        if cell.refusal:
            continue
        rows = [row for _, out in expected_outputs(cell, STREAMS[cell.disorder]) for row in out["out"]]
        late = [row for _, out in expected_outputs(cell, STREAMS[cell.disorder]) for row in out["out.late"]]
        silent += [] if rows else [cell.name]
        assert not late or cell.disorder in ("late", "killed") or cell.emit.get("allow_loss"), cell.name
        seen |= {(cell.kind.word, row["pane"]["timing"], row["pane"]["retraction"]) for row in rows}
        seen |= {(cell.kind.word, row["reason"]) for row in late}
    assert silent == []
    aligned = ("tumbling", "sliding", "session")
    assert {
        (kind, timing, again)
        for kind in aligned
        for timing in ("early", "on_time", "late")
        for again in (False, True)
    } <= seen
    assert {(kind, reason) for kind in aligned for reason in ("too_late", "closed", "no_event_time")} <= seen


def test_a_death_changes_nothing_of_what_is_expected() -> None:
    for cell in cells():
        if cell.disorder == "killed" and not cell.refusal:
            late = Cell(cell.kind, cell.trigger, cell.mode, "late")
            killed_rows = [
                out for line, out in expected_outputs(cell, STREAMS["killed"]) if any(out.values())
            ]
            assert killed_rows == [
                out for line, out in expected_outputs(late, STREAMS["late"]) if any(out.values())
            ]
