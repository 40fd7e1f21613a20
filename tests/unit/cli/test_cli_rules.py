"""Rules on the terminal: each fault once, and the number of active rules at the end of the run."""

from __future__ import annotations

from pathlib import Path

from headrace.cli.terminal.following import report_once
from headrace.cli.terminal.summary import Summary
from headrace.cli.terminal.views import View
from headrace.explain.text import text_of
from headrace.rules.log import RuleFault
from headrace.runtime.progress.status import RulesStatus, Status


def status(*faults: str) -> Status:
    rules = {"alerts": RulesStatus({"one": 1, "two": 4}, faults)}
    return Status(True, 0, 0, 0.0, None, None, 0, 0, rules=rules)


class KeyReport(View):
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def test_a_fault_of_a_rule_is_reported_once() -> None:
    view, message = KeyReport(), set[str]()
    fault = RuleFault("one", 1, "it has changed", "put it back", "rules.yaml:3:1: rule `one`", "2026-01-01")
    for _ in range(2):
        report_once(status(str(fault)), view, message)
    assert view.said == [
        "a rule of `alerts` cannot be used: rules.yaml:3:1: rule `one`: it has changed (version 1 stays in "
        "force)\n"
        "  hint: put it back"
    ]


def test_the_summary_states_how_many_rules_are_in_force() -> None:
    message = text_of(Summary("p", "caught_up", 1.0, status("wrong"), Path("here"), "").lines())
    assert "alerts       2 rules in force  1 cannot be used" in message
