"""`headrace explain`: the plan drawn, the cuts into queries, where each step runs and what is guaranteed."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.failures import show_cautions
from headrace.cli.options import AsJson, PipelineFile, PipelineName, flag
from headrace.cli.output import out, show_cropped, show_json, show_lines, width
from headrace.errors import OptionError
from headrace.plan.graph import Graph


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
) -> None:
    """Show what a pipeline will do, without running it.

    Draws the steps from sources (top) to sinks; then the Spark queries they are cut into, the tier of each step
    (native, kernel, arrow or python) with the reason, what its state keeps and how much that can become, what is
    guaranteed for each sink, and what keeps Spark's real-time mode from taking it.

    For example:

    - `headrace explain fraud.py`
    - `headrace explain fraud.yaml --mermaid > fraud.mmd`
    - `headrace explain fraud.yaml --mermaid --step small_then_large`
    """
    from headrace.cli.loading import load_one
    from headrace.plan.cautions import cautions_of
    from headrace.plan.drawing import drawing
    from headrace.plan.explain import as_json
    from headrace.plan.explain import explain as explained
    from headrace.plan.mermaid import mermaid as flowchart

    if mermaid and (json or physical):
        other = "--json" if json else "--physical"
        raise OptionError(
            f"expected --mermaid or {other}, got both",
            where="explain",
            hint="a flowchart holds only the steps",
        )
    if step is not None and not mermaid:
        raise OptionError("--step is for --mermaid", where="explain", hint="add --mermaid")
    explanation = explained(load_one(file, pipeline).check())
    show_cautions(cautions_of(explanation.graph))
    plans = _physical(explanation.graph) if physical else {}
    if mermaid:
        out().file.write(flowchart(explanation) if step is None else _states(explanation.graph, step))
    elif json:
        show_json({**as_json(explanation), **({"physical": plans} if physical else {})})
    else:
        show_lines(drawing(explanation, width=width()))
        for name, plan in plans.items():
            show_lines([(), (("Physical plan", "heading"), (f"   query {name}", "rail"))])
            show_cropped(plan)


def _states(graph: Graph, step: str) -> str:
    from headrace.plan.pattern_diagram import diagram_of, mermaid, pattern_of

    return mermaid(diagram_of(pattern_of(graph, step)))


def _physical(graph: Graph) -> dict[str, str]:
    from headrace.engine.physical import physical_plans

    return physical_plans(graph)
