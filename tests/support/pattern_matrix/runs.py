"""The matrix of patterns as a table that can be run; see `tests.support.matrix.runs`."""

from __future__ import annotations

from tests.support.matrix.runs import OUTCOMES, Table
from tests.support.pattern_matrix.cells import cells
from tests.support.pattern_matrix.writing import case_of, content_of

PATTERNS = Table(cells, content_of, case_of, OUTCOMES.with_name("pattern_matrix.json"))
