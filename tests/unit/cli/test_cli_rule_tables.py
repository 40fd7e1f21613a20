"""`headrace explain` and `headrace draw` of a step whose patterns are in a table.

Listing, drawing, and errors.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., "subprocess.CompletedProcess[str]"]
FRAUD = """
name: fraud
sources: {tx: {memory: {}, schema: "card string, amount double, ts timestamp", event_time: ts}}
steps: {alerts: {from: tx, key_by: card, match_rules: {rules: rules.yaml, longest: 1 hour}}}
sinks: {out: {from: alerts, memory: {}}}
"""
RULES = """
rise: {version: 4, steps: [{small: amount < 1}, {large: {followed_by: amount > 500}}], within: 1 minute}
many: {steps: [{small: {where: amount < 5, times: 5}}], within: 10 minutes}
off: {active: false, steps: [{any: amount > 5}], within: 1 minute}
endless: {steps: [{any: amount > 5}], within: 2 hours}
typo: {steps: [{any: amount > 5}], witin: 1 hour}
"""
ENDLESS = (
    "rules.yaml:4:1: rule `endless`: a match may take 2 hours; the longest that this step allows is 1 hour"
)


@pytest.fixture(autouse=True)
def files(write: Callable[[str, str], Path]) -> None:
    write("fraud.yaml", FRAUD)
    write("rules.yaml", RULES)


def test_explain_lists_the_rules_of_a_table(call: Call) -> None:
    message = call("explain", "fraud.yaml").stdout
    rules = message[message.index("Rules   of alerts, from rules.yaml") :].splitlines()[1:]
    assert rules[:12] == [
        "  rise     version 4, from the first batch on  small, followed by large",
        "                                               small: amount < 1",
        "                                               large: amount > 500",
        "                                               rules.yaml:1:1",
        "  many     version 1, from the first batch on  small (5 times)",
        "                                               small: amount < 5",
        "                                               rules.yaml:2:1",
        "  off      not active                          any",
        "                                               any: amount > 5",
        "                                               rules.yaml:3:1",
        "  endless  wrong, not in force                 any",
        "                                               any: amount > 5",
    ]
    assert rules[12:14] == [f"           {ENDLESS}", "             hint: make `within` shorter"]
    assert "unknown key `witin` in the rule" in rules[15]


def test_the_same_as_data(call: Call) -> None:
    [table] = json.loads(call("explain", "fraud.yaml", "--json").stdout)["rules"]
    assert (table["step"], table["table"], table["begun"]) == ("alerts", "rules.yaml", False)
    assert [(rule["id"], rule["version"], rule["standing"]) for rule in table["rules"]] == [
        ("rise", 4, "next batch"),
        ("many", 1, "next batch"),
        ("off", None, "not active"),
        ("endless", None, "wrong"),
        ("typo", None, "wrong"),
    ]
    assert table["rules"][3]["faults"][0]["hint"] == "make `within` shorter"


def test_a_table_that_is_not_there_is_reported_and_the_rest_explained(call: Call) -> None:
    Path("rules.yaml").unlink()
    message = call("explain", "fraud.yaml")
    assert message.returncode == 0
    assert "  rules.yaml: the rules cannot be read: No such file or directory" in message.stdout
    drawn = call("draw", "fraud.yaml")
    assert (drawn.returncode, drawn.stderr) == (
        1,
        "error: rules.yaml: the rules cannot be read: No such file or directory\n",
    )


def test_every_active_rule_is_drawn_and_wrong_ones_are_reported(call: Call) -> None:
    message = call("draw", "fraud.yaml")
    assert message.returncode == 0, message.stderr
    assert f"warning: {ENDLESS}" in message.stderr
    picture = Path("fraud.svg").read_text()
    assert ">rise, version 4<" in picture
    assert ">many<" in picture
    assert ">off<" not in picture


def test_one_rule_is_drawn(call: Call) -> None:
    assert call("draw", "fraud.yaml", "--rule", "off", "-o", "off.svg").returncode == 0
    assert ">off<" in Path("off.svg").read_text()
    assert call("explain", "fraud.yaml", "--mermaid", "--rule", "many").stdout.startswith("stateDiagram-v2\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("draw", "fraud.yaml", "--rule", "ris"),
            "error: --rule: rules.yaml has no rule `ris`\n  hint: did you mean `rise`? Known: endless, "
            "many, off, rise, typo",
        ),
        (("draw", "fraud.yaml", "--rule", "endless"), f"error: {ENDLESS}\n  hint: make `within` shorter"),
        (
            ("draw", "fraud.yaml", "--rule", "typo"),
            "rule `typo`: unknown key `witin` in the rule\n  hint: did you mean",
        ),
        (
            ("draw", "fraud.yaml", "--step", "alert", "--rule", "rise"),
            "fraud: no step `alert` with rules\n  hint: did you mean `alerts`?",
        ),
        (
            ("draw", "good.py", "--rule", "rise"),
            "--rule: no step takes its patterns from a table\n  hint: leave",
        ),
        (
            ("explain", "fraud.yaml", "--mermaid", "--step", "alerts"),
            "--step: `alerts` has 2 rules, and a diagram shows one\n  hint: add --rule ID: rise, version 4, "
            "many",
        ),
        (
            ("explain", "fraud.yaml", "--rule", "rise"),
            "explain: --rule requires --mermaid\n  hint: add --mermaid",
        ),
    ],
)
def test_what_can_not_be_drawn(call: Call, words: tuple[str, ...], message: str) -> None:
    done = call(*words)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_table_without_an_active_rule_has_nothing_to_draw(
    call: Call, write: Callable[[str, str], Path]
) -> None:
    write("rules.yaml", "off: {active: false, steps: [{any: amount > 5}], within: 1 minute}\n")
    message = call("draw", "fraud.yaml").stderr
    assert "fraud.yaml: nothing to draw: no rule is active\n  hint: headrace explain lists" in message
    write("rules.yaml", "{}\n")
    assert "  it has none" in call("explain", "fraud.yaml").stdout


def test_a_rule_is_found_in_whichever_table_has_it(call: Call, write: Callable[[str, str], Path]) -> None:
    other = "others: {from: tx, key_by: card, match_rules: {rules: others.yaml}}"
    write(
        "both.yaml",
        FRAUD.replace("steps: {", f"steps: {{{other}, ").replace(
            "sinks: {", "sinks: {o: {from: others, memory: {}}, "
        ),
    )
    write("others.yaml", "fall: {steps: [{high: amount > 5}], within: 1 minute}\n")
    assert call("draw", "both.yaml", "--rule", "rise").returncode == 0
    assert ">alerts: rise, version 4<" in Path("both.svg").read_text()
    assert "others.yaml has no rule `ris`" in call("draw", "both.yaml", "--rule", "ris").stderr


def test_check_shows_what_is_wrong_with_rules_in_a_file(
    call: Call, write: Callable[[str, str], Path]
) -> None:
    done = call("check", "fraud.yaml")
    assert done.returncode == 2
    assert ENDLESS in done.stderr
    assert "rule `typo`: unknown key `witin`" in done.stderr
    write("rules.yaml", "rise: {steps: [{small: amount < 1}], within: 1 minute}")
    assert call("check", "fraud.yaml").returncode == 0
