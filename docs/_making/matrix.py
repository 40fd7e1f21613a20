"""Build the pages of the window matrix: the generated transcripts and their outcomes in the last complete run."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.support.matrix.cells import (  # noqa: E402
    DISORDERS,
    KINDS,
    MODES,
    TRIGGERS,
    Cell,
    Kind,
    Trigger,
    cells,
)
from tests.support.matrix.runs import Outcomes, Way  # noqa: E402
from tests.support.matrix.streams import STREAMS  # noqa: E402
from tests.support.matrix.writing import case_of, stream_of  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MARKS = {"passed": "✓", "kernel": "○", "failed": "✗", "": "·"}
MEANINGS = {
    "passed": "passes in process and through Spark",
    "kernel": "passes in process",
    "failed": "fails",
    "": "not run since its last change",
}


def matrix_page() -> str:
    """Return the page with the table of all cells."""
    outcomes = Outcomes()
    marked = {cell.name: mark_of(cell, outcomes) for cell in cells()}
    allowed = [cell for cell in cells() if not cell.refusal]
    return "\n".join(
        [
            "---\nhide: [toc]\n---",
            "# Window matrix",
            "",
            f"Every kind of window with every trigger, mode and order of rows: {len(list(cells())):,} cells. "
            f"{len(allowed):,} of them are transcripts whose expected rows are computed by a small Python "
            "model of windows; the others are rejected by the plan, and a test compares the reason. Every "
            "test run executes all of them in process and a sample through Spark; `make matrix` runs the "
            "whole table through Spark.",
            "",
            "In each block the rows are the modes discarding, accumulating and retracting, and the columns "
            "are rows in order, out of order, late, and late with the run killed three times. A mark links "
            "to its transcript.",
            "",
            *legend([marked[cell.name] for cell in allowed]),
            "",
            *_table(marked),
            "",
            "## Rejected combinations",
            "",
            *_refusals(),
            "",
            "## Input rows",
            "",
            "All cells process the same rows, in four orders. For windows without conditions, rows have only "
            "key, value and time.",
            "",
            *streams(STREAMS, stream_of),
            "",
        ]
    )


def kind_page(kind: Kind) -> str:
    """Return the page with the transcripts of one kind of window."""
    shown = [
        "---\nsearch: {exclude: true}\nhide: [toc]\n---",
        f"# Window matrix: {kind.name}",
        "",
        "[Back to the window matrix](../matrix.md)",
        "",
    ]
    for cell in cells(kind):
        if not cell.refusal:
            heading = f"{cell.trigger.name} / {cell.mode} / {cell.disorder}"
            shown.append(
                f'<div class="cell"><h3 id="{cell.anchor}">{escape(heading)}</h3>'
                f"<pre><code>{escape(case_of(cell), quote=False)}</code></pre></div>\n"
            )
    return "\n".join(shown)


def pages() -> dict[str, str]:
    """Return all pages by path."""
    return {"reference/matrix.md": matrix_page()} | {
        f"reference/matrix/{kind.file}.md": kind_page(kind) for kind in KINDS
    }


def mark_of(cell: Any, outcomes: Outcomes) -> str:
    """Return the outcome of a cell: `failed` if any execution failed, `passed` if it passed through Spark."""
    actual = {way: outcomes.of(cell, way) for way in get_args(Way)}
    if "failed" in actual.values():
        return "failed"
    return "passed" if actual["spark"] else "kernel" if actual["kernel"] else ""


def legend(marks: list[str]) -> Iterator[str]:
    """Yield the meaning and the number of each mark."""
    for mark, sign in MARKS.items():
        if count := marks.count(mark):
            yield f'- <span class="matrix"><a class="{mark or "unknown"}">{sign}</a></span> {MEANINGS[mark]}: {count:,}'


def table(heads: list[str], rows: Iterable[tuple[str, list[str]]]) -> Iterator[str]:
    """Yield a table of blocks of marks: one head per column; per row a name and one block per column."""
    yield '<div class="matrix"><table class="marks">'
    yield f"<thead><tr><th></th>{''.join(f'<th>{head}</th>' for head in heads)}</tr></thead><tbody>"
    for name, blocks in rows:
        yield f"<tr><th>{name}</th>{''.join(f'<td>{block}</td>' for block in blocks)}</tr>"
    yield "</tbody></table></div>"


def block(lines: Iterable[Iterable[Any]], file: str, marked: dict[str, str]) -> str:
    """Return the marks of cells, line by line; each links to its transcript on the page `file`."""
    return "<br>".join("".join(_mark(cell, file, marked[cell.name]) for cell in line) for line in lines)


def _table(marked: dict[str, str]) -> Iterator[str]:
    heads = [f'<a href="{kind.file}/">{_breakable(kind.name)}</a>' for kind in KINDS]
    return table(
        heads,
        (
            (_breakable(trigger.name), [_block(kind, trigger, marked) for kind in KINDS])
            for trigger in TRIGGERS
        ),
    )


def _block(kind: Kind, trigger: Trigger, marked: dict[str, str]) -> str:
    """Return the twelve marks of a window and a trigger, or a link to the reason of the rejection."""
    if refusal := Cell(kind, trigger, MODES[0], DISORDERS[0]).refusal:
        return f'<a class="rejected" href="#{_anchor(refusal)}" title="{escape(refusal)}">rejected</a>'
    lines = [[Cell(kind, trigger, mode, disorder) for disorder in DISORDERS] for mode in MODES]
    return block(lines, kind.file, marked)


def _mark(cell: Any, file: str, mark: str) -> str:
    title = escape(f"{cell.name}: {MEANINGS[mark]}")
    return (
        f'<a class="{mark or "unknown"}" href="{file}/#{cell.anchor}" '
        f'title="{title}" aria-label="{title}">{MARKS[mark]}</a>'
    )


def _breakable(name: str) -> str:
    """Return a name with line-break opportunities before brackets and after underscores."""
    return escape(name).replace("(", "<wbr>(").replace("_", "_<wbr>")


def _refusals() -> Iterator[str]:
    actual: dict[str, dict[str, list[str]]] = {}
    for cell in cells():
        if cell.refusal:
            names = actual.setdefault(cell.refusal, {}).setdefault(cell.kind.name, [])
            names += [cell.trigger.name] if cell.trigger.name not in names else []
    for refusal, kinds in actual.items():
        yield f'<p id="{_anchor(refusal)}"></p>'
        yield ""
        yield f"> {refusal}"
        yield ""
        for kind, names in kinds.items():
            yield f"- {kind}: {', '.join(names)}"
        yield ""


def _anchor(refusal: str) -> str:
    return "rejected-" + "-".join(refusal.split()[:3])


def streams(names: Iterable[str], stream_of: Callable[[str], Iterable[str]]) -> Iterator[str]:
    """Yield the input rows of cells as script lines."""
    for name in names:
        yield f"**{name.capitalize()}**"
        yield ""
        yield "```yaml"
        yield from (f"- {line}" for line in stream_of(name))
        yield "```"
        yield ""
