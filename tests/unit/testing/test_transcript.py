"""Reading transcripts: the cases, and errors with line and column."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from headrace.errors import DocumentError, PlanError
from headrace.testing import read_case, read_file
from headrace.testing.transcripts.case import Case, InvalidCase, read_text
from headrace.testing.transcripts.script import Advance, End, Expect, Restart, Rows, Watermark

HEAD = """\
name: a case
pipeline:
  sources:
    tx: {memory: {}, schema: "k string, v int, d decimal(4,2), s struct<a: int>, ts timestamp", event_time: {column: ts}}
    log: {memory: {}, schema: "v int"}
    lines: {files: {path: nowhere}, format: csv, schema: "a int, b string"}
  steps:
    sums: {from: tx, key_by: k, aggregate: {s: sum(v)}}
    split: {from: tx, route: {big: v > 5, rest: "true"}}
  sinks:
    out: {from: sums, memory: {name: out}}
script:
"""


def case(*lines: str) -> Case:
    return read_case(HEAD + "\n".join(f"  - {line}" for line in lines))


def faults(*lines: str) -> str:
    with pytest.raises(DocumentError) as caught:
        case(*lines)
    return str(caught.value)


def test_every_line_of_a_script_is_read() -> None:
    actual = case(
        "rows: {tx: [{k: 1, v: 2, ts: 1.5}, {d: 1.25, s: {a: 3}, ts: 1970-01-02T00:00:00Z}], lines: ['1,x', "
        "{a: 2, b: 'y,z'}]}",
        "watermark: {tx: 25}",
        "restart: kill",
        "rows: {log: [{v: 1}]}",
        "restart: {kill: before_commit}",
        "advance: 30 seconds",
        "end: true",
        "expect: {sums: [{k: a, s: 1}], split.big: [], out: []}",
    )
    rows, watermark, kill, _, dying, advance, end, expect = actual.script
    assert isinstance(rows, Rows)
    assert rows.rows["tx"] == (
        {"k": "1", "v": 2, "ts": "1970-01-01T00:00:01.500000Z"},
        {"d": "1.25", "s": {"a": 3}, "ts": "1970-01-02T00:00:00.000000Z"},
    )
    assert rows.rows["lines"] == (b"1,x", b'2,"y,z"')
    assert isinstance(watermark, Watermark)
    assert watermark.marks == {"tx": 25_000_000}
    assert isinstance(kill, Restart)
    assert kill.moment == "between_epochs"
    assert isinstance(dying, Restart)
    assert dying.moment == "before_commit"
    assert actual.kills_in(3)
    assert not actual.kills_in(0)
    assert isinstance(advance, Advance)
    assert advance.length == 30_000_000
    assert isinstance(end, End)
    assert isinstance(expect, Expect)
    assert actual.outputs == ("sums", "split.big", "out")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("rows: {ty: []}", "13:12: unknown source `ty`\n  hint: Known: lines, log, tx"),
        ("rows: {tx: {k: a}}", "13:16: expected a list of rows, got a mapping"),
        ("rows: {tx: [{kk: a}]}", "13:18: unknown column of the source `kk`\n  hint: did you mean `k`?"),
        ("rows: {tx: [a]}", "13:17: expected a row of columns, got `a`"),
        ("rows: {tx: [{v: x}]}", "13:21: expected int, got `x`"),
        ("rows: {tx: [{v: 3000000000}]}", "13:21: expected int, got `3000000000`, which is out of range"),
        ("rows: {tx: [{v: true}]}", "13:21: expected int, got `true`"),
        ("rows: {tx: [{d: 1.255}]}", "13:21: expected decimal(4,2), got `1.255`, which has too many digits"),
        ("rows: {tx: [{d: abc}]}", "13:21: expected decimal(4,2), got `abc`"),
        ("rows: {tx: [{s: 1}]}", "13:21: expected struct<a:int>, got `1`"),
        ("rows: {tx: [{s: {b: 1}}]}", "13:22: unknown field `b` in struct<a:int>"),
        ("rows: {tx: [{s: [1, 2]}]}", "13:21: expected the 1 values of struct<a:int>, got a list of 2"),
        ("rows: {tx: [{ts: soon}]}", "13:22: expected a time, got `soon`\n  hint: write seconds since 1970"),
        ("rows: {lines: [null]}", "13:20: expected a record, got nothing"),
        ("watermark: {tx: soon}", "13:21: expected a time, got `soon`"),
        ("watermark: {log: 1}", "13:17: `log` has no event time, so it has no watermark"),
        ("expect: {sum: []}", "13:14: unknown output `sum`\n  hint: did you mean `sums`?"),
        ("expect: {split: []}", "13:14: unknown output `split`\n  hint: did you mean `split.big`?"),
        (
            "expect: {sums: 1}",
            "13:20: expected a list of rows, got `1`\n  hint: write [] for no rows",
        ),
        ("expect: {sums: [1]}", "13:21: expected a row of columns, got `1`"),
        ("advance: soon", "13:14: expected a duration, got 'soon'"),
        ("advance: 1 microsecond", "13:14: expected whole milliseconds, at least one"),
        ("restart: stop", "13:14: expected kill, got `stop`\n  hint: write `kill` or {kill: before_commit}"),
        ("restart: {kill: later}", "13:21: expected one of before_commit, got `later`"),
        ("restart: {kill: before_commit}", "13:5: `kill: before_commit` must follow a `rows` line"),
        ("end: false", "13:10: expected `end: true`"),
        ("row: {tx: []}", "13:5: `row` is not a line of a script\n  hint: did you mean `rows`?"),
    ],
)
def test_a_wrong_line_is_reported_with_its_place(line: str, message: str) -> None:
    assert message in faults(line)


def test_a_line_after_the_end_is_refused() -> None:
    assert "14:5: the input has ended" in faults("end: true", "advance: 1 second")


def test_a_script_that_expects_nothing_is_refused() -> None:
    assert "the script has no `expect`" in faults("rows: {tx: []}")


def test_all_faults_are_reported_at_once() -> None:
    message = faults("rows: {tx: [{v: x}, {v: y}]}", "end: false")
    assert message.count("expected") == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x", "1:1: `pipeline` of the case is missing"),
        ("[]", "1:1: expected a case, got an empty list"),
        (
            "nam: x\npipeline: {}\nscript: []",
            "1:1: unknown key `nam` in a case\n  hint: did you mean `name`?",
        ),
        ("name: x\npipeline: gone.yaml\nscript: []", "2:11: no pipeline at gone.yaml"),
        ("name: x\npipeline: [\nscript: []", "<text>:3"),
        ("", "1:1: the file has no case"),
        (
            "name: x\npipeline: {sources: {a: {memory: {}, schema: 'v int'}}}\nscript: 1",
            "3:9: expected a list of lines",
        ),
    ],
)
def test_a_wrong_case_is_reported_with_its_place(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_case(text)
    assert message in str(caught.value)


def test_two_cases_are_not_one() -> None:
    with pytest.raises(DocumentError, match="expected one case, got 2"):
        read_case(HEAD + "  - expect: {sums: []}\n---\n" + HEAD + "  - expect: {sums: []}\n")


def test_a_broken_case_leaves_the_others_readable() -> None:
    good = HEAD + "  - expect: {sums: []}\n"
    first, second = read_text(f"name: broken\n---\n{good}")
    assert isinstance(first, InvalidCase)
    assert first.name == "broken"
    assert isinstance(second, Case)


def test_a_plan_that_cannot_run_is_reported() -> None:
    text = dedent("""
        name: x
        pipeline:
          sources: {tx: {memory: {}, schema: "v int"}}
          steps: {w: {from: tx, window: {tumbling: 1 second}, aggregate: {n: count(*)}}}
        script: []
        """)
    with pytest.raises((PlanError, DocumentError), match="time"):
        read_case(text)


def test_a_case_can_name_the_file_of_its_pipeline(tmp_path: Path) -> None:
    (tmp_path / "words.yaml").write_text(
        "name: words\nsources: {w: {memory: {}, schema: word string}}\nsteps: {n: {from: w, key_by: word, "
        "aggregate: {n: count(*)}}}"
    )
    (tmp_path / "words.py").write_text(
        "from headrace import Pipeline, connect\n"
        "p = Pipeline('words')\n"
        "w = p.read('w', connect.memory(), schema='word string')\n"
        "w.key_by('word').aggregate('n', n='count(*)')\n"
        "p.run()\n"
    )
    for name in ("words.yaml", "words.py"):
        file = tmp_path / "case.yaml"
        file.write_text(f"name: x\npipeline: {name}\nscript: [expect: {{n: []}}]")
        [actual] = read_file(file)
        assert isinstance(actual, Case), actual
        assert actual.graph.name == "words"


def test_a_python_file_without_a_pipeline_is_reported(tmp_path: Path) -> None:
    (tmp_path / "none.py").write_text("")
    (tmp_path / "case.yaml").write_text("name: x\npipeline: none.py\nscript: []")
    [actual] = read_file(tmp_path / "case.yaml")
    assert isinstance(actual, InvalidCase)
    assert "expected one pipeline in" in str(actual.error)
    assert "got 0" in str(actual.error)


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="the file cannot be read"):
        read_file(tmp_path / "gone.yaml")


def test_a_case_can_be_a_mapping() -> None:
    actual = read_case(
        {
            "name": "as a mapping",
            "pipeline": {"sources": {"a": {"memory": {}, "schema": "v int"}}},
            "script": [{"rows": {"a": [{"v": 1}]}}, {"expect": {"a": [{"v": 1}]}}],
        }
    )
    assert actual.graph.name == "as-a-mapping"
