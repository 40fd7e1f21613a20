"""The matrix of patterns: plan errors state the reason, and every cell has a match."""

from __future__ import annotations

import pytest
from tests.support.pattern_matrix.cells import QUANTIFIERS, Cell, Quantifier, cells
from tests.support.pattern_matrix.expected import expected_outputs
from tests.support.pattern_matrix.streams import STREAMS
from tests.support.pattern_matrix.writing import case_of, content_of

from headrace.errors import HeadraceError
from headrace.testing.transcripts.case import read_case

REFUSED = [cell for cell in cells() if cell.refusal and cell.disorder == "in order"]


@pytest.mark.parametrize("quantifier", QUANTIFIERS, ids=lambda quantifier: quantifier.file)
def test_a_case_is_read_from_a_file_as_the_tests_read_it(quantifier: Quantifier) -> None:
    """Tests build cases from mappings.

    One case of each quantifier is also read from YAML text and must be equal.
    """
    cell = next(cell for cell in cells(quantifier) if cell.disorder == "killed")
    assert read_case(case_of(cell)).graph == read_case(content_of(cell)).graph


@pytest.mark.parametrize("cell", REFUSED, ids=lambda cell: cell.name.removesuffix(" / in order"))
def test_a_cell_that_the_plan_refuses_reports_the_reason(cell: Cell) -> None:
    with pytest.raises(HeadraceError) as caught:
        read_case(content_of(cell))
    assert cell.refusal in str(caught.value)
    assert "write two patterns" in str(caught.value)


@pytest.mark.slow
def test_every_cell_matches_something_and_quantifiers_differ() -> None:
    silent = [
        c.name for c in cells() if not c.refusal and not expected_outputs(c, STREAMS[c.disorder])["out"]
    ]
    assert silent == []
    plain = [c for c in cells() if (c.contiguity, c.skip, c.disorder) == ("followed_by", "none", "in order")]
    results = {c.quantifier.name: str(expected_outputs(c, STREAMS[c.disorder])["out"]) for c in plain}
    assert len(set(results.values())) == len(QUANTIFIERS)


@pytest.mark.slow
def test_a_death_changes_nothing_of_what_is_expected() -> None:
    for cell in cells():
        if cell.disorder == "killed":
            late = Cell(cell.contiguity, cell.quantifier, cell.skip, "late")
            assert expected_outputs(cell, STREAMS["killed"]) == expected_outputs(late, STREAMS["late"])
