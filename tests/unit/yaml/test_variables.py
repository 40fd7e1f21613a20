"""Variables that the environment holds, or for which it names a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import DocumentError, OptionError
from headrace.yaml import from_text
from headrace.yaml.variables import expand


@pytest.mark.parametrize(
    ("content", "expected"),
    [("hush", "hush"), ("hush\n", "hush"), ("hush\r\n", "hush"), ("a\nb\n\n", "a\nb\n"), (" é ", " é ")],
)
def test_file_of_a_variable_is_read_without_its_last_line_break(
    tmp_path: Path, content: str, expected: str
) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content.encode())
    assert expand("${TOKEN}|${TOKEN:-none}", {"TOKEN_FILE": str(file)}) == f"{expected}|{expected}"


def test_variable_that_is_set_is_not_read_from_a_file() -> None:
    environment = {"TOKEN": "own", "EMPTY": "", "TOKEN_FILE": "/nowhere", "EMPTY_FILE": "/nowhere"}
    assert expand("${TOKEN} ${EMPTY}${EMPTY:-default}", environment) == "own default"


def test_empty_file_counts_as_an_empty_variable(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("\n")
    environment = {"TOKEN_FILE": str(tmp_path / "secret")}
    assert expand("<${TOKEN}${TOKEN:-default}>", environment) == "<default>"


def test_empty_name_of_a_file_counts_as_not_set() -> None:
    assert expand("${TOKEN:-default}", {"TOKEN_FILE": ""}) == "default"


def test_document_names_no_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush")
    named = f"${{TOKEN_FILE:-{tmp_path}/secret}}"
    assert expand(f"{named} ${{TOKEN:-none}}", {}) == f"{tmp_path}/secret none"
    with pytest.raises(OptionError, match="`TOKEN` is not set"):
        expand(f"{named} ${{TOKEN}}", {})


def test_content_of_a_file_is_not_expanded_again(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("${OTHER}")
    environment = {"TOKEN_FILE": str(tmp_path / "secret"), "OTHER": "hush"}
    assert expand("${TOKEN}", environment) == "${OTHER}"


def test_file_that_cannot_be_read_is_an_error_with_a_position(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    text = "sources:\n  tx: {memory: {}, schema: '${COLUMNS}'}"
    with pytest.raises(DocumentError) as raised:
        from_text(text, name="p", environment={"COLUMNS_FILE": str(missing)})
    assert str(raised.value) == (
        f"<text>:2:28: the variable `COLUMNS` cannot be read from {missing}: No such file or directory\n"
        "  hint: `COLUMNS_FILE` names this file; set `COLUMNS`, or mount the file"
    )


def test_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"\xff")
    with pytest.raises(OptionError, match="it is not UTF-8 text"):
        expand("${TOKEN:-default}", {"TOKEN_FILE": str(tmp_path / "secret")})
