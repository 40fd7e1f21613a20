"""`headrace doctor`: check the requirements on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from headrace.cli.options import AsJson, flag
from headrace.cli.terminal.errors import FAILED
from headrace.cli.terminal.output import show_json, show_lines
from headrace.explain.text import Line

_MARKS = {"ok": ("✓", "good"), "optional": ("○", "warn"), "missing": ("✗", "bad")}


def doctor(
    spark: Annotated[
        bool, flag("--spark", help="Start Spark too and run a query; takes some seconds.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Check Java, Spark, the kernel, jars and connectors on this machine.

    Prints a command for everything that is missing. Exit status 0: pipelines can run here; 1: they cannot.

    For example:

    - `headrace doctor --spark`
    """
    from headrace.devtools.doctor import Check, examine, healthy

    checks = examine(start_spark=spark)
    is_healthy = healthy(checks)

    def lines(check: Check, width: int) -> list[Line]:
        mark, role = _MARKS[check.status]
        fix: list[Line] = [((f"    {' ' * width}fix: ", "hint"), (check.fix, "bold"))] if check.fix else []
        return [((f"  {mark} ", role), (f"{check.name:<{width}}", "name"), (check.fact, "fact")), *fix]

    if json:
        show_json({"healthy": is_healthy, "checks": [asdict(check) for check in checks]})
    else:
        wide = max(len(check.name) for check in checks) + 2
        show_lines(line for check in checks for line in lines(check, wide))
        last = (
            ("Pipelines can run here.", "good") if is_healthy else ("Pipelines cannot run here yet.", "bad")
        )
        show_lines([(), (last,)])
    if not is_healthy:
        raise typer.Exit(FAILED)
