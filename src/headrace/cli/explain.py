"""`headrace explain`: the plan drawn, the cuts into queries, where each step runs and what is guaranteed."""

from __future__ import annotations

from typing import Annotated

from headrace.cli.options import AsJson, PipelineFile, PipelineName, flag
from headrace.cli.output import out, show_json, show_lines, width
from headrace.errors import OptionError


def explain(
    file: PipelineFile,
    pipeline: PipelineName = None,
    mermaid: Annotated[bool, flag("--mermaid", help="Print a Mermaid flowchart.")] = False,
    json: AsJson = False,
) -> None:
    """Show what a pipeline will do, without running it.

    Draws the steps from sources (top) to sinks; then the Spark queries they are cut into, the tier of each step
    (native, kernel or python) with the reason and its state, and what is guaranteed for each sink.

    **Examples:** `headrace explain fraud.py` · `headrace explain fraud.yaml --mermaid > fraud.mmd`
    """
    from headrace.cli.loading import load_one
    from headrace.plan.drawing import drawing
    from headrace.plan.explain import as_json
    from headrace.plan.explain import explain as explained
    from headrace.plan.mermaid import mermaid as flowchart

    if mermaid and json:
        raise OptionError("expected --mermaid or --json, got both", where="explain", hint="use one of them")
    explanation = explained(load_one(file, pipeline).check())
    if mermaid:
        out().file.write(flowchart(explanation))
    elif json:
        show_json(as_json(explanation))
    else:
        show_lines(drawing(explanation, width=width()))
