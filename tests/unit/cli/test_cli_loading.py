"""Pipelines are found in Python files; errors name the user's file and line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.cli.loading import load_all, load_one
from headrace.errors import HeadraceError, LoadError

READ = """
from headrace import Pipeline, connect

tx = Pipeline("p").read("tx", connect.memory(), schema="v int")
"""
Write = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def _there(here: Path) -> None:
    """All of these work in a directory of their own."""


def test_a_file_is_loaded_with_its_own_directory_first_and_not_run() -> None:
    assert load_one(Path("good.py")).name == "words"


def test_run_at_the_top_level_is_left_to_the_command_line(write: Write) -> None:
    write("runs.py", Path("good.py").read_text() + "\nwords.run()\n")
    assert [pipeline.name for pipeline in load_all(Path("runs.py"))] == ["words"]


def test_a_dataclass_schema_in_the_file_resolves_its_annotations(write: Write) -> None:
    write(
        "typed.py",
        """
        from __future__ import annotations
        from dataclasses import dataclass
        from headrace import Pipeline
        from parts import Log

        @dataclass
        class Payment:
            card: str
            amount: float

        Pipeline("typed").read("tx", Log(), format="json", schema=Payment)
        """,
    )
    assert load_one(Path("typed.py"))._graph["tx"].schema.names == ("card", "amount")  # type: ignore[attr-defined]


def test_several_pipelines_need_a_name(write: Write) -> None:
    write("two.py", 'from headrace import Pipeline\nPipeline("one")\nPipeline("two")\n')
    assert load_one(Path("two.py"), "two").name == "two"
    with pytest.raises(
        LoadError, match=r"it builds 2 pipelines: one, two\n  hint: choose one: --pipeline one"
    ):
        load_one(Path("two.py"))
    with pytest.raises(LoadError, match=r"unknown pipeline `tow`\n  hint: did you mean `two`"):
        load_one(Path("two.py"), "tow")


def test_two_pipelines_of_one_name_can_not_be_distinguished(write: Write) -> None:
    write("same.py", 'from headrace import Pipeline\nPipeline("one")\nPipeline("one")\n')
    with pytest.raises(LoadError, match="several pipelines are named `one`"):
        load_one(Path("same.py"), "one")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.py", "x = 1\n", "none.py: it builds no pipeline"),
        ("syntax.py", "x = 1\ny = (\n", "syntax.py:2:5: SyntaxError: '(' was never closed\n    y = ("),
        ("exits.py", "import sys\nsys.exit(3)\n", "exits.py:2: it calls sys.exit"),
        (
            "name.py",
            "x = 1\nprnt(x)\n",
            "name.py:2: NameError: name 'prnt' is not defined\n  hint: did you mean `print`?",
        ),
        ("modul.py", "import kafkaa.x\n", "pip install kafkaa"),
        (
            "duration.py",
            "from headrace import windows\n\nwindows.tumbling('5 minuets')\n",
            "duration.py:3: tumbling: size: expected a duration, got '5 minuets'",
        ),
        (
            "deep.py",
            "def f(x):\n    return g(x)\n\ndef g(x):\n    return 1 / x\n\nf(0)\n",
            "deep.py:7 in <module>: f(0)\n    deep.py:2 in f: return g(x)\n    deep.py:5 in g: return 1 / x",
        ),
        (
            "endless.py",
            "def f():\n    f()\n\nf()\n",
            "endless.py:2 in f: f()\n    ... ",
        ),
        ("attribute.py", f"{READ}tx.wher('1')\n", "no attribute 'wher'\n  hint: did you mean `where`?"),
        (
            "order.py",
            f"{READ}tx.window(1)\n",
            "`tx`: `window` needs rows with a time\n  hint: declare it first: .event_time",
        ),
        (
            "connector.py",
            f"{READ}connect.kafak()\n",
            "hint: did you mean `kafka`? Known: console, delta, files, generator, http",
        ),
        (
            "starts.py",
            f"{READ}tx._pipeline.start()\n",
            "start() is called while the command line loads the file",
        ),
        ("import.py", "from headrace import Pipelin\n", "cannot import name 'Pipelin' from 'headrace'"),
        ("inside.py", "import headrace.nope\n", "ModuleNotFoundError: No module named 'headrace.nope'"),
        ("pipe.txt", "", "pipe.txt: expected a .py, .yaml or .yml file, got .txt"),
    ],
)
def test_what_is_wrong_in_a_file_is_reported_by_its_line(
    write: Write, name: str, text: str, message: str
) -> None:
    path = write(name, text)
    with pytest.raises(HeadraceError) as caught:
        load_all(path)
    assert message in str(caught.value)
    assert "importlib" not in str(caught.value)
    assert "headrace/cli" not in str(caught.value)


def test_an_error_in_a_module_beside_it_names_both_files(write: Write) -> None:
    write("helper.py", "def rate(x):\n    return 1 / x\n")
    write("uses.py", "import helper\nhelper.rate(0)\n")
    with pytest.raises(LoadError) as caught:
        load_all(Path("uses.py"))
    assert str(caught.value).startswith("uses.py:2: ZeroDivisionError: division by zero")
    assert "helper.py:2 in rate: return 1 / x" in str(caught.value)


def test_a_missing_file_names_its_neighbour() -> None:
    with pytest.raises(LoadError, match=r"goood.py: no such file\n  hint: did you mean `good.py`"):
        load_all(Path("goood.py"))


def test_a_missing_file_without_neighbours_names_the_current_directory() -> None:
    Path("empty").mkdir()
    with pytest.raises(LoadError, match=rf"no such file\n  hint: the current directory is {Path.cwd()}"):
        load_all(Path("empty", "words.yaml"))


def test_a_directory_names_a_file_in_it(here: Path) -> None:
    with pytest.raises(LoadError, match=r"it is a directory\n  hint: name a file in it: good.py"):
        load_all(Path())
    (here / "empty").mkdir()
    with pytest.raises(LoadError, match=r"it has no .py or .yaml file"):
        load_all(Path("empty"))
