"""`headrace explain`: show the plan, its queries, execution tiers, state bounds and guarantees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.options import AsJson, CheckpointDirectory, PipelineFile, PipelineName, flag
from headrace.cli.terminal.errors import show_warnings
from headrace.cli.terminal.output import out, show_cropped, show_json, show_lines, width
from headrace.errors import OptionError
from headrace.plan.graph import Graph
from headrace.steps.patterns.match_rules import MatchRules

if TYPE_CHECKING:
    from headrace.rules.listing import TableListing


def explain(
    file: PipelineFile,
    pipeline: PipelineName = None,
    physical: Annotated[
        bool, flag("--physical", help="Add Spark's plan of each query (starts Spark).")
    ] = False,
    mermaid: Annotated[bool, flag("--mermaid", help="Print a Mermaid flowchart.")] = False,
    json: AsJson = False,
    *,
    step: Annotated[
        str | None,
        typer.Option(
            "--step", metavar="NAME", help="With --mermaid: this step's pattern as a state diagram."
        ),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option("--rule", metavar="ID", help="With --mermaid: this rule of a table as a state diagram."),
    ] = None,
    checkpoint: CheckpointDirectory = None,
) -> None:
    """Show the plan of a pipeline without running it.

    Draws the steps from sources (top) to sinks, then lists the Spark queries, the execution tier of each step
    (native, kernel, arrow or python) with the reason, the contents and bound of its state, the guarantee of
    each sink, and the steps that cannot run in real-time mode. For a rule table it lists each rule with its
    active version, location and errors.

    For example:

    - `headrace explain fraud.py`
    - `headrace explain fraud.yaml --mermaid > fraud.mmd`
    - `headrace explain fraud.yaml --mermaid --step small_then_large`
    - `headrace explain fraud.yaml --mermaid --rule small_then_large`
    """
    from headrace.cli.loading import load_one
    from headrace.cli.terminal.rule_lines import lines_of
    from headrace.explain.explanation import as_json
    from headrace.explain.explanation import explain as explained
    from headrace.explain.mermaid import mermaid as flowchart
    from headrace.explain.text import drawing
    from headrace.plan.warnings import warnings_of

    if mermaid and (json or physical):
        other = "--json" if json else "--physical"
        raise OptionError(
            f"expected --mermaid or {other}, got both",
            where="explain",
            hint="a flowchart holds only the steps",
        )
    if (step is not None or rule is not None) and not mermaid:
        word = "--step" if step is not None else "--rule"
        raise OptionError(f"{word} requires --mermaid", where="explain", hint="add --mermaid")
    explanation = explained(load_one(file, pipeline)._plan())
    graph = explanation.graph
    show_warnings(warnings_of(graph))
    plans = _physical(graph) if physical else {}
    if mermaid:
        plain = step is None and rule is None
        out().file.write(
            flowchart(explanation) if plain else _states(graph, step or "", rule or "", str(file))
        )
        return
    tables = _tables(graph, checkpoint)
    if json:
        rules = {"rules": [table.as_json() for table in tables]}
        show_json({**as_json(explanation), **rules, **({"physical": plans} if physical else {})})
    else:
        show_lines(drawing(explanation, width=width()))
        for table in tables:
            show_lines(lines_of(table, width=width()))
        for name, plan in plans.items():
            show_lines([(), (("Physical plan", "heading"), (f"   query {name}", "rail"))])
            show_cropped(plan)


def _states(graph: Graph, step: str, rule: str, where: str) -> str:
    from headrace.cli.terminal.pattern_drawings import diagrams_of
    from headrace.explain.pattern_diagram import mermaid

    diagrams = diagrams_of(graph, step, rule, where=where)
    if len(diagrams) > 1:
        names = ", ".join(diagram.name for diagram in diagrams)
        raise OptionError(
            f"`{step}` has {len(diagrams)} rules, and a diagram shows one",
            where="--step",
            hint=f"add --rule ID: {names}",
        )
    return mermaid(diagrams[0])


def _tables(graph: Graph, checkpoint: Path | None) -> list[TableListing]:
    if not graph.of(MatchRules):
        return []
    from headrace.checkpoints.directory import directory_of
    from headrace.rules.listing import list_rule_tables

    return list_rule_tables(graph, directory_of(graph.name, checkpoint))


def _physical(graph: Graph) -> dict[str, str]:
    from headrace.runtime.queries.inspection import physical_plans

    return physical_plans(graph)
