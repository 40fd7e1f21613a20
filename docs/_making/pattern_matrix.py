"""Build the pages of the pattern matrix: the generated transcripts and their outcomes."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, get_args

from matrix import block, legend, mark_of, streams, table
from tests.support.matrix.runs import Outcomes, Way
from tests.support.pattern_matrix.cells import (
    CONTIGUITIES,
    DISORDERS,
    QUANTIFIERS,
    SKIPS,
    Cell,
    Quantifier,
    cells,
)
from tests.support.pattern_matrix.runs import PATTERNS
from tests.support.pattern_matrix.streams import STREAMS
from tests.support.pattern_matrix.writing import case_of, stream_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_WAYS = {
    "kernel": "in process",
    "batch": "as a batch with the same final rows",
    "spark": "through Spark",
}


def pages() -> dict[str, str]:
    """Return all pages by path."""
    return {"reference/pattern-matrix.md": matrix_page()} | {
        f"reference/pattern-matrix/{quantifier.file}.md": quantifier_page(quantifier)
        for quantifier in QUANTIFIERS
    }


def matrix_page() -> str:
    """Return the page with the table of all cells."""
    outcomes = Outcomes(PATTERNS)
    marked = {cell.name: mark_of(cell, outcomes) for cell in cells()}
    return "\n".join(
        [
            "---\nhide: [toc]\n---",
            "# Pattern matrix",
            "",
            "Every pattern is `s`, followed by `a` with a quantifier, then `b`, with every contiguity, skip "
            f"strategy and order of rows: {len(list(cells())):,} cells. {len(PATTERNS.allowed):,} of them "
            "are transcripts whose expected rows are computed by a small Python matcher without an "
            "automaton; the others are rejected by the plan, and a test compares the reason. Every test run "
            "executes one cell in three in process; `make matrix` runs the whole table, also through Spark.",
            "",
            f"In each block the rows are the skips {', '.join(f'`{skip}`' for skip in SKIPS)}, and the "
            "columns are rows in order, out of order, late, and late with the run killed three times. A "
            "mark links to its transcript.",
            "",
            *legend([marked[cell.name] for cell in PATTERNS.allowed]),
            "",
            _ran(outcomes),
            "",
            *_table(marked),
            "",
            "## Rejected combinations",
            "",
            *sorted(
                {
                    f"- {cell.quantifier.name}, then {cell.contiguity}: {cell.refusal}"
                    for cell in cells()
                    if cell.refusal
                }
            ),
            "",
            "## Input rows",
            "",
            "All cells process the same rows, in four orders.",
            "",
            *streams(STREAMS, stream_of),
            "",
        ]
    )


def quantifier_page(quantifier: Quantifier) -> str:
    """Return the page with the transcripts of one quantifier."""
    shown = [
        "---\nsearch: {exclude: true}\nhide: [toc]\n---",
        f"# Pattern matrix: {quantifier.name}",
        "",
        "[Back to the pattern matrix](../pattern-matrix.md)",
        "",
    ]
    for cell in cells(quantifier):
        if not cell.refusal:
            heading = f"{cell.contiguity} / {cell.skip} / {cell.disorder}"
            shown.append(
                f'<div class="cell"><h3 id="{cell.anchor}">{escape(heading)}</h3>'
                f"<pre><code>{escape(case_of(cell), quote=False)}</code></pre></div>\n"
            )
    return "\n".join(shown)


def _ran(outcomes: Outcomes) -> str:
    """Return the number of cells that passed per way of execution."""
    passed = {
        way: sum(outcomes.of(cell, way) == "passed" for cell in PATTERNS.allowed) for way in get_args(Way)
    }
    whole = len(PATTERNS.allowed)
    counts = [
        f"{count:,} of {whole:,} {_WAYS[way]}" if count < whole else f"all {whole:,} {_WAYS[way]}"
        for way, count in passed.items()
    ]
    return f"Passed so far: {', '.join(counts)}."


def _table(marked: dict[str, str]) -> Iterator[str]:
    heads = [contiguity.replace("_", "_<wbr>") for contiguity in CONTIGUITIES]
    return table(
        heads,
        (
            (
                f'<a href="{quantifier.file}/">{escape(quantifier.name)}</a>',
                [_block(contiguity, quantifier, marked) for contiguity in CONTIGUITIES],
            )
            for quantifier in QUANTIFIERS
        ),
    )


def _block(contiguity: str, quantifier: Quantifier, marked: dict[str, str]) -> str:
    """Return the marks of a contiguity and a quantifier, or a link to the reason of the rejection."""
    if refusal := Cell(contiguity, quantifier, SKIPS[0], DISORDERS[0]).refusal:
        return f'<a class="rejected" href="#rejected-combinations" title="{escape(refusal)}">rejected</a>'
    lines = [[Cell(contiguity, quantifier, skip, disorder) for disorder in DISORDERS] for skip in SKIPS]
    return block(lines, quantifier.file, marked)
