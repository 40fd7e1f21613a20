"""Checks of submitted files."""

from __future__ import annotations

import pytest

from headrace.dashboard.editor.flow.references import entries_of
from headrace.errors import DocumentError, HeadraceError, OptionError
from headrace.jobs import submission
from headrace.jobs.security.documents import check_submission
from headrace.jobs.security.policy import Policy
from headrace.jobs.submission import Submission, check_files, check_path

DOCUMENT = b"""
sources: {n: {generator: {rate: 10, columns: {n: sequence}}}}
sinks: {out: {from: n, console: {}}}
"""


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "/etc/passwd",
        "a/../../b",
        "..",
        "",
        ".hidden",
        "a/.ssh/key",
        "a\\..\\b",
        "a\0b",
        "a/\n",
        "x" * 600,
    ],
)
def test_a_path_that_leaves_the_directory_is_rejected(path: str) -> None:
    with pytest.raises(OptionError, match="relative path"):
        check_path(path)


@pytest.mark.parametrize("path", ["events.jsonl", "events/2026-03-01.jsonl", "a b/c=1/x_y.csv"])
def test_an_ordinary_path_is_accepted(path: str) -> None:
    check_path(path)


def test_too_many_files_are_rejected() -> None:
    with pytest.raises(OptionError, match="at most 200 files"):
        check_files({f"f{n}": b"" for n in range(201)})


def test_a_file_that_is_too_large_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "MAX_FILE_BYTES", 10)
    with pytest.raises(OptionError, match="at most"):
        check_files({"big": bytes(11)})


def test_an_upload_that_is_too_large_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "MAX_TOTAL_BYTES", 10)
    with pytest.raises(OptionError, match="at most"):
        check_files({"a": bytes(6), "b": bytes(6)})


def test_a_wrong_document_is_rejected_with_its_line() -> None:
    wrong = Submission("p.yaml", {"p.yaml": b"sources:\n  n: {generatr: {}}\n"})
    with pytest.raises(DocumentError) as caught:
        wrong.check()
    assert caught.value.problems[0].where.startswith("p.yaml:2:")


def test_a_document_without_a_sink_is_rejected() -> None:
    with pytest.raises(DocumentError, match="nothing is written"):
        Submission("p.yaml", {"p.yaml": DOCUMENT.split(b"sinks")[0]}).check()


def test_the_name_of_the_pipeline_is_that_of_the_file_by_default() -> None:
    assert Submission("fraud.yaml", {"fraud.yaml": DOCUMENT}).check() == "fraud"


def test_functions_of_a_document_are_not_imported_by_the_service() -> None:
    text = DOCUMENT.decode().replace("sinks:", 'steps: {m: {from: n, map: {python: "no_such:f"}}}\nsinks:')
    assert Submission("scored.yaml", {"scored.yaml": text.encode()}).check() == "scored"


def test_the_version_depends_on_every_file() -> None:
    first = Submission("p.yaml", {"p.yaml": DOCUMENT, "homes.csv": b"a"})
    second = Submission("p.yaml", {"p.yaml": DOCUMENT, "homes.csv": b"b"})
    assert first.version != second.version


def test_another_kind_of_file_is_rejected() -> None:
    with pytest.raises(OptionError, match=r"\.py, \.yaml or \.sql"):
        Submission("p.sh", {"p.sh": b""}).check()


@pytest.mark.parametrize("value", ["!!int n", "!!int", "!!float x", "!!bool maybe", "!!timestamp x"])
def test_a_scalar_with_a_wrong_tag_is_an_error_of_the_document(value: str) -> None:
    document = f"name: p\nsources: {{}}\nsteps: {{s: {value}}}\n"
    with pytest.raises(HeadraceError):
        check_submission(Submission("p.yaml", {"p.yaml": document.encode()}), Policy(host="0.0.0.0"))
    assert entries_of(document) == {}


SQL = b"""CREATE SOURCE n (n BIGINT) WITH (connector = 'files', path = 'in/', format = 'json');
SELECT n FROM n;
"""


def test_script_of_sql_statements_is_accepted() -> None:
    assert Submission("shop.sql", {"shop.sql": SQL}).check() == "shop"


def test_errors_of_a_script_have_line_and_column() -> None:
    with pytest.raises(DocumentError, match=r"shop.sql:2:8: unknown column `m`"):
        Submission("shop.sql", {"shop.sql": SQL.replace(b"SELECT n", b"SELECT m")}).check()


def test_script_without_a_sink_is_rejected() -> None:
    with pytest.raises(DocumentError, match="nothing is written"):
        Submission("shop.sql", {"shop.sql": SQL.partition(b"SELECT")[0]}).check()
