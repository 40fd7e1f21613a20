"""`headrace new` makes a project; that all of it runs is shown in tests/spark."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from headrace.cli.commands.new import TEMPLATES, Template
from headrace.cli.loading import load_one

Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("template", [name for name in get_args(Template) if name != "connector"])
def test_the_twins_of_a_template_are_the_same_plan(
    call: Call, template: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = call("new", "mine", "--template", template)
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(here / "mine")
    python, document = load_one(Path("pipeline.py")), load_one(Path("pipeline.yaml"))
    assert python._plan() == document._plan()
    assert python.name == "mine"
    assert not [
        path for path in here.joinpath("mine").rglob("*") if "{{" in path.name or path.suffix == ".tmpl"
    ]


def test_it_lists_what_was_made_and_the_commands_of_the_readme(call: Call) -> None:
    message = call("new", "work/words").stdout
    assert message.startswith("created work/words/\n  pipeline.py    the pipeline\n")
    assert message.endswith(
        "next:\n  cd work/words\n  headrace explain pipeline.py\n"
        "  headrace run pipeline.py --once\n  headrace test\n"
    )


def test_a_directory_that_is_not_empty_is_left_alone(call: Call, here: Path) -> None:
    done = call("new", str(here))
    assert done.returncode == 2
    assert "it exists and is not empty\n  hint: choose another name" in done.stderr


def test_a_name_that_no_pipeline_can_have_is_refused(call: Call) -> None:
    done = call("new", "9lives")
    assert done.returncode == 2
    assert "expected a name of letters, digits, _ and -, got '9lives'" in done.stderr


def test_a_name_that_is_a_templates_takes_that_template(call: Call, here: Path) -> None:
    assert call("new", "connector").stdout.startswith("created connector/\n  connector.py   the connector\n")
    assert here.joinpath("connector", "connector.py").exists()
    assert call("new", "at/connector", "--template", "blank").returncode == 0
    assert not here.joinpath("at", "connector", "connector.py").exists()


def test_every_template_can_be_chosen() -> None:
    assert sorted(get_args(Template)) == sorted(path.name for path in TEMPLATES.iterdir())
