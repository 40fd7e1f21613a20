"""The matrix page: what the transcripts of the generated matrix show, and what came of each in the last whole run."""

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
SAID = {
    "passed": "passes without a query and through Spark",
    "kernel": "passes without a query",
    "failed": "fails",
    "": "not run since it changed",
}


def matrix_page() -> str:
    """The table of all cells."""
    outcomes = Outcomes()
    marked = {cell.name: mark_of(cell, outcomes) for cell in cells()}
    allowed = [cell for cell in cells() if not cell.refusal]
    return "\n".join(
        [
            "---\nhide: [toc]\n---",
            "# The matrix",
            "",
            f"Every kind of window with every trigger, mode and order of rows: {len(list(cells())):,} cells. "
            f"{len(allowed):,} of them are transcripts whose expected rows come from a small model of windows in Python; "
            "the rest the plan refuses, and a test reads why. All run without a query in every test run, "
            "a sample of them through Spark; `make matrix` runs the whole table through Spark.",
            "",
            "In each block the rows are the modes discarding, accumulating and retracting, and the columns are rows in order, out of",
            "order, late, and late with the run killed three times. A mark leads to its transcript.",
            "",
            *legend([marked[cell.name] for cell in allowed]),
            "",
            *_table(marked),
            "",
            "## What is refused",
            "",
            *_refusals(),
            "",
            "## The streams",
            "",
            "All cells are fed the same rows, in four ways. Rows that a kind of window doesn't look at more closely have only "
            "key, value and time.",
            "",
            *streams(STREAMS, stream_of),
            "",
        ]
    )


def kind_page(kind: Kind) -> str:
    """The transcripts of one kind of window, each under an anchor."""
    shown = [
        "---\nsearch: {exclude: true}\nhide: [toc]\n---",
        f"# The matrix: {kind.name}",
        "",
        "[Back to the whole matrix](../matrix.md)",
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
    """All pages, by their path."""
    return {"reference/matrix.md": matrix_page()} | {
        f"reference/matrix/{kind.file}.md": kind_page(kind) for kind in KINDS
    }


def mark_of(cell: Any, outcomes: Outcomes) -> str:
    """What became of a cell: `failed` if any way failed, `passed` if Spark's passed."""
    found = {way: outcomes.of(cell, way) for way in get_args(Way)}
    if "failed" in found.values():
        return "failed"
    return "passed" if found["spark"] else "kernel" if found["kernel"] else ""


def legend(marks: list[str]) -> Iterator[str]:
    """What each of these marks means, and how many of it there are."""
    for mark, sign in MARKS.items():
        if count := marks.count(mark):
            yield f'- <span class="matrix"><a class="{mark or "unknown"}">{sign}</a></span> {SAID[mark]}: {count:,}'


def table(heads: list[str], rows: Iterable[tuple[str, list[str]]]) -> Iterator[str]:
    """A table of blocks of marks: a head for each column, and for each row its name and a block for each column."""
    yield '<div class="matrix"><table class="marks">'
    yield f"<thead><tr><th></th>{''.join(f'<th>{head}</th>' for head in heads)}</tr></thead><tbody>"
    for name, blocks in rows:
        yield f"<tr><th>{name}</th>{''.join(f'<td>{block}</td>' for block in blocks)}</tr>"
    yield "</tbody></table></div>"


def block(lines: Iterable[Iterable[Any]], file: str, marked: dict[str, str]) -> str:
    """The marks of some cells, line by line; each leads to its transcript in the page `file`."""
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
    """The twelve marks of a window and a trigger, or the word refused."""
    if refusal := Cell(kind, trigger, MODES[0], DISORDERS[0]).refusal:
        return f'<a class="refused" href="#{_anchor(refusal)}" title="{escape(refusal)}">refused</a>'
    lines = [[Cell(kind, trigger, mode, disorder) for disorder in DISORDERS] for mode in MODES]
    return block(lines, kind.file, marked)


def _mark(cell: Any, file: str, mark: str) -> str:
    told = escape(f"{cell.name}: {SAID[mark]}")
    return (
        f'<a class="{mark or "unknown"}" href="{file}/#{cell.anchor}" '
        f'title="{told}" aria-label="{told}">{MARKS[mark]}</a>'
    )


def _breakable(name: str) -> str:
    """A name that may be broken before its bracket and after an underscore."""
    return escape(name).replace("(", "<wbr>(").replace("_", "_<wbr>")


def _refusals() -> Iterator[str]:
    found: dict[str, dict[str, list[str]]] = {}
    for cell in cells():
        if cell.refusal:
            names = found.setdefault(cell.refusal, {}).setdefault(cell.kind.name, [])
            names += [cell.trigger.name] if cell.trigger.name not in names else []
    for refusal, kinds in found.items():
        yield f'<p id="{_anchor(refusal)}"></p>'
        yield ""
        yield f"> {refusal}"
        yield ""
        for kind, names in kinds.items():
            yield f"- {kind}: {', '.join(names)}"
        yield ""


def _anchor(refusal: str) -> str:
    return "refused-" + "-".join(refusal.split()[:3])


def streams(names: Iterable[str], stream_of: Callable[[str], Iterable[str]]) -> Iterator[str]:
    """The streams that cells are fed, each as lines of a script."""
    for name in names:
        yield f"**{name.capitalize()}**"
        yield ""
        yield "```yaml"
        yield from (f"- {line}" for line in stream_of(name))
        yield "```"
        yield ""
