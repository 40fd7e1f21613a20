"""`headrace migrate` rewrites the spellings of 0.2 and keeps everything else of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from headrace.cli.app import main
from headrace.devtools.migration.documents import migrate_document
from headrace.devtools.migration.programs import migrate_program
from headrace.errors import DocumentError, HeadraceError, LoadError, OptionError

OLD = Path(__file__).parents[2] / "support" / "version_0_2"


def old(name: str) -> str:
    return (OLD / f"{name}.py.txt").read_text()


@pytest.mark.parametrize(
    ("example", "lines"),
    [
        (
            "card_fraud",
            [
                'abroad = payments.lookup("with_home", homes, on="card").where("country <> home", step_name="abroad")',
                'tested = totals.where("smallest < 1 and largest > 500").drop("pane", step_name="tested")',
            ],
        ),
        ("page_views", ['    failed = views.where("status >= 500", step_name="failed")']),
    ],
)
def test_an_example_of_0_2_changes_in_the_lines_with_old_spellings_only(
    example: str, lines: list[str]
) -> None:
    before = old(example)
    after = migrate_program(before, "pipeline.py")
    changed = [
        (was, now)
        for was, now in zip(before.splitlines(), after.text.splitlines(), strict=True)
        if was != now
    ]
    assert [now for _, now in changed] == lines
    assert after.notes == ()
    assert migrate_program(after.text, "pipeline.py").text == after.text


def test_every_spelling_of_a_program_is_rewritten_and_the_rest_is_noted() -> None:
    after = migrate_program(old("stages"), "stages.py")
    assert after.text == (OLD / "stages.expected.txt").read_text()
    assert [
        (note.line, note.what.partition(" ")[0]) for note in sorted(after.notes, key=lambda n: n.line)
    ] == [
        (3, "SinkHandle"),
        (30, "write"),
        (35, "a"),
        (36, "write"),
    ]


def test_a_program_without_headrace_is_not_changed() -> None:
    text = "rows.where('a', name='b')\n"
    assert migrate_program(text, "other.py").text == text


DOCUMENT = """\
# A document of 0.2
name: p
steps:
  flow: {from: tx, window: {tumbling: 1 hour}, emit: {late_rows: count}, aggregate: {n: count(*)}}  # flow
  more: {from: tx, window: {tumbling: 1 hour}, emit: {late_rows: count, mode: discarding}, aggregate: {n: count(*)}}
  last: {from: tx, window: {tumbling: 1 hour}, emit: {mode: discarding, late_rows: count}, aggregate: {n: count(*)}}
  keep: {from: tx, window: {tumbling: 1 hour}, emit: {late_rows: divert}, aggregate: {n: count(*)}}
  block:
    from: tx
    window: {tumbling: 1 hour}
    emit:
      late_rows: count   # Spark's operator
    # a comment
    aggregate: {n: count(*)}
  longer:
    from: tx
    window: {tumbling: 1 hour}
    emit:
      mode: discarding
      late_rows: count
    aggregate: {n: count(*)}
  home: {from: tx, lookup: {files: {path: homes.csv}, on: card, how: inner}}
  left: {from: tx, lookup: {files: {path: homes.csv}, how: left, on: card}}
  both:
    from: tx
    lookup:
      files: {path: homes.csv}
      how: inner  # as on_miss
      on: card
      on_miss: drop
  hits: {from: tx, match: {steps: [{a: v > 1}], late_rows: count}}
  pairs: {from: tx, join: {with: other, on: a, how: left}}
"""
MIGRATED = """\
# A document of 0.2
name: p
steps:
  flow: {from: tx, window: {tumbling: 1 hour}, engine: native, aggregate: {n: count(*)}}  # flow
  more: {from: tx, window: {tumbling: 1 hour}, engine: native, emit: {mode: discarding}, aggregate: {n: count(*)}}
  last: {from: tx, window: {tumbling: 1 hour}, engine: native, emit: {mode: discarding}, aggregate: {n: count(*)}}
  keep: {from: tx, window: {tumbling: 1 hour}, aggregate: {n: count(*)}}
  block:
    from: tx
    window: {tumbling: 1 hour}
    engine: native   # Spark's operator
    # a comment
    aggregate: {n: count(*)}
  longer:
    from: tx
    window: {tumbling: 1 hour}
    engine: native
    emit:
      mode: discarding
    aggregate: {n: count(*)}
  home: {from: tx, lookup: {files: {path: homes.csv}, on: card, on_miss: drop}}
  left: {from: tx, lookup: {files: {path: homes.csv}, on: card}}
  both:
    from: tx
    lookup:
      files: {path: homes.csv}
      on: card
      on_miss: drop
  hits: {from: tx, match: {steps: [{a: v > 1}], late_rows: count}}
  pairs: {from: tx, join: {with: other, on: a, how: left}}
"""


def test_every_spelling_of_a_document_is_rewritten_and_comments_stay() -> None:
    assert migrate_document(DOCUMENT, "p.yaml").text == MIGRATED
    assert migrate_document(MIGRATED, "p.yaml").text == MIGRATED


def test_all_cases_of_a_file_of_transcripts_are_rewritten() -> None:
    case = "name: a\npipeline:\n  " + DOCUMENT.replace("\n", "\n  ").rstrip() + "\n"
    expected = "name: a\npipeline:\n  " + MIGRATED.replace("\n", "\n  ").rstrip() + "\n"
    assert migrate_document(f"{case}---\n{case}", "t.yaml").text == f"{expected}---\n{expected}"


@pytest.mark.parametrize(
    ("migrate", "text", "error"),
    [
        (migrate_program, "x = (\n", (LoadError, "f:1:5: SyntaxError: '(' was never closed")),
        (migrate_document, "a: [\n", (DocumentError, "f:2:1: it is not YAML")),
    ],
)
def test_a_file_that_cannot_be_parsed_is_an_error(
    migrate: Callable[[str, str], object], text: str, error: tuple[type[HeadraceError], str]
) -> None:
    kind, message = error
    with pytest.raises(kind) as raised:
        migrate(text, "f")
    assert str(raised.value).startswith(message)


class Command:
    """`headrace migrate` in this process; gives status, output and messages."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: object) -> CompletedProcess[str]:
        with pytest.raises(SystemExit) as ended:
            main(["migrate", *map(str, words)])
        actual = self._capsys.readouterr()
        return CompletedProcess([*map(str, words)], int(ended.value.code or 0), actual.out, actual.err)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def test_check_prints_the_difference_and_exits_with_1(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "pipeline.py"
    file.write_text(old("page_views"))
    done = command(file, "--check")
    assert done.returncode == 1
    assert '+    failed = views.where("status >= 500", step_name="failed")' in done.stdout.splitlines()
    assert "1 of 1 file to rewrite; add --write" in done.stderr
    assert file.read_text() == old("page_views")


def test_write_rewrites_the_files(tmp_path: Path, command: Command) -> None:
    program, document = tmp_path / "stages.py", tmp_path / "p.yaml"
    program.write_text(old("stages"))
    document.write_text(DOCUMENT)
    done = command(program, document, "--write")
    assert done.returncode == 0
    assert "2 of 2 files rewritten" in done.stderr
    assert f"{program}:30: write window(..., engine=" in done.stderr
    assert document.read_text() == MIGRATED
    assert command(document, "--check").returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("p.sql",), "p.sql: expected a .py, .yaml or .yml file, got .sql"),
        (("p.py", "--check", "--write"), "migrate: expected --write or --check, got both"),
        (("missing.py",), "missing.py: no such file"),
    ],
)
def test_wrong_arguments_are_errors(
    words: tuple[str, ...],
    message: str,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("p.sql", "p.py"):
        Path(name).touch()
    done = command(*words)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert OptionError.__name__ not in done.stderr
