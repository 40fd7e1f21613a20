"""`headrace schema`, `headrace connectors`, `headrace to-yaml` and `headrace test` as far as they need no Spark."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace import Pipeline

Call = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[[str, str], Path]

FILES = """
from headrace import Pipeline
from headrace import Pipeline, connect

words = Pipeline("words")
lines = words.read("lines", connect.files(path="in/"), format="text")
lines.key_by("value").aggregate("counts", n="count(*)").write("out", connect.files(path="out/", format="json"))
"""


def test_a_python_pipeline_printed_as_a_document_gives_the_same_plan(call: Call, write: Write) -> None:
    write("words.py", FILES)
    done = call("to-yaml", "words.py")
    assert done.returncode == 0, done.stderr
    path = write("words.yaml", done.stdout)
    assert Pipeline.from_yaml(path)._graph.of(type(Pipeline.from_yaml(path)._graph["counts"]))
    assert call("to-yaml", "words.yaml").stdout == done.stdout
    assert "counts: {from: lines, key_by: value, aggregate: {n: count(*)}}" in done.stdout


def test_a_document_with_faults_is_reported_by_line_and_column(call: Call, write: Write) -> None:
    write("bad.yaml", "name: p\nsources:\n  tx: {flies: {path: in/}}\n")
    done = call("check", "bad.yaml")
    assert done.returncode == 2
    assert done.stderr.startswith("error: bad.yaml:3:")
    assert "did you mean `files`" in done.stderr


def test_the_schema_of_documents_is_a_json_schema(call: Call) -> None:
    actual = json.loads(call("schema").stdout)
    assert set(actual["properties"]) >= {"name", "sources", "steps", "sinks"}


def test_the_options_of_a_connector_come_from_its_model(call: Call) -> None:
    text = call("connectors", "files").stdout
    assert text.startswith("files   sink, source, table · delivers exactly once\n")
    assert "  path                 text · required" in text
    (actual,) = json.loads(call("connectors", "files", "--json").stdout)
    path = actual["options"][0]
    assert (path["name"], path["type"], path["required"]) == ("path", "text", True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("document", "words.py"), ("to-yaml", "words.py")),
        (("plan", "words.py", "words.py"), ("diff", "words.py", "words.py")),
        (("schema", "--connectors"), ("connectors",)),
        (("schema", "--connector", "files", "--json"), ("connectors", "files", "--json")),
    ],
)
def test_names_of_0_2_are_hidden_aliases(
    call: Call, write: Write, old: tuple[str, ...], new: tuple[str, ...]
) -> None:
    write("words.py", FILES)
    actual, expected = call(*old), call(*new)
    assert actual.returncode == 0, actual.stderr
    assert actual.stdout == expected.stdout


def test_help_groups_the_commands_and_hides_names_of_0_2(call: Call) -> None:
    text = call("--help").stdout
    assert re.findall(r"^╭─ (\w+) ─", text, re.MULTILINE) == [
        "Options",
        "Develop",
        "Run",
        "Inspect",
        "Services",
    ]
    commands = re.findall(r"^│ ([a-z][a-z-]*)", text, re.MULTILINE)
    assert {"to-yaml", "diff", "connectors", "migrate"} <= set(commands)
    assert not {"document", "plan", "drive"} & set(commands)


def test_an_unknown_connector_names_the_nearest(call: Call) -> None:
    done = call("connectors", "file")
    assert done.returncode == 2
    assert "unknown connector `file`\n  hint: did you mean `files`?" in done.stderr


def test_a_test_file_that_is_not_there_is_reported(call: Call) -> None:
    done = call("test", "nope.yaml")
    assert done.returncode == 2
    assert done.stderr.startswith("error: nope.yaml: no such file\n")


def test_a_file_without_cases_is_reported(call: Call, here: Path) -> None:
    (here / "empty").mkdir()
    done = call("test", "empty")
    assert done.returncode == 2
    assert "no case to run\n  hint: a case has `pipeline` and `script`" in done.stderr
    assert "no name contains 'x': leave -k out" in call("test", "empty", "-k", "x").stderr


def test_without_a_path_the_transcripts_of_the_directory_are_run(
    call: Call, here: Path, write: Write
) -> None:
    for name in ("first", "tests", ".venv"):
        (here / name).mkdir()
    wrong = "name: wrong\npipeline: {}\nscrpt: []\n"
    for name in (
        "first/a.transcript.yaml",
        "tests/b.transcript.yml",
        "tests/pipeline.yaml",
        ".venv/c.transcript.yaml",
    ):
        write(name, wrong)
    done = call("test")
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if line.startswith("✗")] == [
        "✗ wrong  first/a.transcript.yaml:1:1",
        "✗ wrong  tests/b.transcript.yml:1:1",
    ]


def test_a_directory_without_transcripts_is_reported(call: Call, write: Write) -> None:
    write("cases.yaml", "name: other\n")
    done = call("test")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: test: no file named *.transcript.yaml in the current directory or below it\n  hint: name the files"
    )


def test_a_case_that_can_not_be_read_fails_with_its_place(call: Call, write: Write) -> None:
    write("case.yaml", "name: wrong\npipeline: {}\nscrpt: []\n")
    done = call("test", "case.yaml", "--junit", "report.xml")
    assert done.returncode == 1
    assert "case.yaml:3:1" in done.stdout
    assert "1 of 1 case failed" in done.stderr
    assert 'failures="1"' in Path("report.xml").read_text()
