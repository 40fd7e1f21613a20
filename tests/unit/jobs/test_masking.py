"""Secrets of pipeline files are masked, whatever the form in which they are written."""

from __future__ import annotations

import pytest

from headrace.jobs.security.masking import mask_document
from headrace.yaml.parsing import compose

VALUES = {
    "plain": "token: hush",
    "single quotes": "token: 'hush, \"hush'",
    "double quotes on two lines": 'token: "hush\n        hush"',
    "block": "token: |\n        hush\n        hush",
    "anchor": "token: &shared hush",
    "tag": "token: !!str hush",
    "default of a variable": 'token: "${TOKEN:-hush}"',
    "text beside a variable": 'token: "hush ${TOKEN}"',
    "header": "headers: {X-Api-Key: hush, Accept: [hush]}",
    "nested": "sasl: {user: ada, password: hush}",
    "setting of a client": "settings: {ssl.keystore.password: hush}",
    "URL": "url: postgresql://ada:hu@sh-hush@db/shop",
    "default of a URL": 'url: "${DB:-postgresql://ada:hush@db/shop}"',
    "query of a URL": "url: https://host/path?api_key=hush&page=1",
    "connection string": "url: \"host=db password='hush hush' user=ada\"",
    "comment": "user: ada  # token: hush",
    "comment with a URL": "# url: postgresql://ada:hush@db",
}
VISIBLE = {
    "variable": 'token: "${TOKEN}"',
    "variables in a URL": "url: postgresql://${DB_USER}:${DB_PASSWORD}@db/shop",
    "port": "url: https://host:8080/path",
    "columns": "schema: {token: string, password: string}",
    "empty": "token:",
}


def document(value: str) -> str:
    return f"name: p\nsinks:\n  token:\n    webhook:\n      {value}\n    from: n\n"


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_secret_is_masked_and_the_document_stays_valid(value: str) -> None:
    text = document(value)
    masked = mask_document(text, "p.yaml")
    assert "hu" not in masked
    assert "***" in masked
    assert compose(masked, file="p.yaml")
    assert masked.splitlines()[-1] == "    from: n"
    assert masked.count("\n") == text.count("\n")


@pytest.mark.parametrize("value", VISIBLE.values(), ids=VISIBLE)
def test_what_is_not_secret_stays_visible(value: str) -> None:
    assert mask_document(document(value), "p.yaml") == document(value)


def test_secret_that_an_alias_repeats_is_masked_at_its_anchor() -> None:
    text = "sources: {a: {memory: {x: &shared hush}}, b: {http: {token: *shared}}}"
    assert mask_document(text, "p.yaml") == text.replace("hush", '"***"')


def test_document_that_contains_itself_is_masked() -> None:
    text = "sources: &all {a: {http: {token: hush, again: *all}}}"
    assert mask_document(text, "p.yaml") == text.replace("hush", '"***"')


def test_text_that_is_not_yaml_is_masked() -> None:
    assert mask_document("a: [\n  token: hush", "p.yaml") == 'a: [\n  token: "***"'


@pytest.mark.parametrize(
    "line",
    [
        'connect.webhook("https://host", token="hush")',
        "connect.webhook(headers={'X-Token': 'hush'})",
        'API_KEY: str = r"hush"',
        'token = (\n    "hush"\n)',
        'connect.postgres("postgresql://ada:hush@db")',
        "run()  # the password: hush",
    ],
)
def test_secret_in_python_is_masked(line: str) -> None:
    assert "hush" not in mask_document(line, "p.py")


@pytest.mark.parametrize(
    "option",
    [
        "password = 'hush'",
        "'password' = 'hush'",
        "settings.ssl.keystore.password = 'hush'",
        'token = "hush"',
        "token = '${TOKEN:-hush}'",
        "url = 'postgresql://ada:hush@db/shop'",
        "-- token = hush\n table = 't'",
        "/* password: hush */ table = 't'",
    ],
)
def test_secret_in_a_script_is_masked(option: str) -> None:
    text = f"CREATE SINK s WITH (connector = 'postgres', {option}) AS\nSELECT * FROM n"
    masked = mask_document(text, "p.sql")
    assert "hush" not in masked
    assert masked.count("\n") == text.count("\n")
    assert "SELECT * FROM n" in masked


def test_columns_and_variables_of_a_script_stay_visible() -> None:
    text = "CREATE SINK s (token STRING) WITH (password = '${PASSWORD}') AS SELECT token FROM n WHERE token = 'a'"
    assert mask_document(text, "p.sql") == text


def test_secret_in_a_script_with_an_open_quote_is_masked() -> None:
    assert "hush" not in mask_document("CREATE SINK s WITH (password = 'hush', x = 'a", "p.sql")
