"""The matrix of patterns: what the transcripts of the generated matrix show, and what came of each."""

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
    "kernel": "without a query",
    "batch": "as a batch whose final rows are the stream's",
    "spark": "through Spark",
}


def pages() -> dict[str, str]:
    """All pages, by their path."""
    return {"reference/pattern-matrix.md": matrix_page()} | {
        f"reference/pattern-matrix/{quantifier.file}.md": quantifier_page(quantifier)
        for quantifier in QUANTIFIERS
    }


def matrix_page() -> str:
    """The table of all cells."""
    outcomes = Outcomes(PATTERNS)
    marked = {cell.name: mark_of(cell, outcomes) for cell in cells()}
    return "\n".join(
        [
            "---\nhide: [toc]\n---",
            "# The matrix of patterns",
            "",
            "Every pattern is `s`, followed by `a` with a quantifier, and then `b`: in each way it can follow, with every skip and "
            f"order of rows: {len(list(cells())):,} cells. {len(PATTERNS.allowed):,} of them are transcripts whose expected rows come "
            "from a small matcher in Python that knows no states; the rest the plan refuses, and a test reads why. Some of "
            "everything, one cell in three, runs without a query in every test run; `make matrix` runs the whole table, "
            "also through Spark.",
            "",
            f"In each block the rows are the skips {', '.join(f'`{skip}`' for skip in SKIPS)}, and the columns are rows in order, out "
            "of order, late, and late with the run killed three times. A mark leads to its transcript.",
            "",
            *legend([marked[cell.name] for cell in PATTERNS.allowed]),
            "",
            _ran(outcomes),
            "",
            *_table(marked),
            "",
            "## What is refused",
            "",
            *sorted(
                {
                    f"- {cell.quantifier.name}, then {cell.contiguity}: {cell.refusal}"
                    for cell in cells()
                    if cell.refusal
                }
            ),
            "",
            "## The streams",
            "",
            "All cells are fed the same rows, in four ways.",
            "",
            *streams(STREAMS, stream_of),
            "",
        ]
    )


def quantifier_page(quantifier: Quantifier) -> str:
    """The transcripts of one quantifier, each under an anchor."""
    shown = [
        "---\nsearch: {exclude: true}\nhide: [toc]\n---",
        f"# The matrix of patterns: {quantifier.name}",
        "",
        "[Back to the whole matrix](../pattern-matrix.md)",
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
    """How many cells were run in which way; the rest of a way has not been run yet."""
    passed = {
        way: sum(outcomes.of(cell, way) == "passed" for cell in PATTERNS.allowed) for way in get_args(Way)
    }
    whole = len(PATTERNS.allowed)
    said = [
        f"{count:,} of {whole:,} {_WAYS[way]}" if count < whole else f"all {whole:,} {_WAYS[way]}"
        for way, count in passed.items()
    ]
    return f"Passed so far: {', '.join(said)}. Cells are run in an order that has some of everything first."


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
    """The marks of a contiguity and a quantifier, or the word refused."""
    if refusal := Cell(contiguity, quantifier, SKIPS[0], DISORDERS[0]).refusal:
        return f'<a class="refused" href="#what-is-refused" title="{escape(refusal)}">refused</a>'
    lines = [[Cell(contiguity, quantifier, skip, disorder) for disorder in DISORDERS] for skip in SKIPS]
    return block(lines, quantifier.file, marked)
