"""The JSON Schema takes what `load` takes, and the shipped file is the one that is made today."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML
from tests.support.document_words import CONTRACT, TRIGGERS, WINDOWS

from headrace import Pipeline
from headrace.connectors import registry
from headrace.errors import DocumentError
from headrace.yaml import document_schema
from headrace.yaml.schema import PATH, json_text

ROOT = Path(__file__).parents[3]
KINDS = ("feed", "files", "kafka", "memory", "postgres", "shelf")
SOURCE = "name: p\nsources: {tx: {feed: {}, schema: ts timestamp, event_time: ts}}\n"


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = document_schema(KINDS)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_every_reference_has_a_definition() -> None:
    references = set(re.findall(r'"#/\$defs/([^"]+)"', json_text()))
    assert references <= set(json.loads(json_text())["$defs"])


def faults(validator: Draft202012Validator, text: str) -> list[str]:
    return [error.message for error in validator.iter_errors(YAML(typ="safe", pure=True).load(text))]


def test_the_contract_example_fits_the_schema(validator: Draft202012Validator) -> None:
    assert faults(validator, CONTRACT) == []
    assert Pipeline.from_yaml_text(CONTRACT, environment={"PG": "there"})._plan()


@pytest.mark.parametrize("window", [written for written, _ in WINDOWS])
def test_windows_fit_the_schema(validator: Draft202012Validator, window: str) -> None:
    step = f"steps: {{t: {{from: tx, window: {window}, aggregate: {{n: count(*)}}}}}}"
    assert faults(validator, SOURCE + step) == []


@pytest.mark.parametrize("trigger", [written for written, _ in TRIGGERS])
def test_triggers_fit_the_schema(validator: Draft202012Validator, trigger: str) -> None:
    step = f"steps: {{t: {{from: tx, window: global, emit: {{trigger: {trigger}}}, aggregate: {{n: count(*)}}}}}}"
    assert faults(validator, SOURCE + step) == []


@pytest.mark.parametrize(
    "good",
    [
        "sources: {tx: {kafka: {servers: a:1, topic: 7, min_tasks: '${N:-1}'}, format: {csv: {delimiter: "
        ";}}}}",
        "sources:\n  tx:\n    feed:\n    schema: {a: int}\n    ingestion_time:",
        "sources: {tx: {files: {path: in/}, format: text, on_error: skip}}",
        "sources: {tx: {feed: {}, schema: a int, processing_time: true}}\nsteps: {a:b: {from: tx, drop: "
        "a}}".replace("a:b", "tx:drop"),
        SOURCE.removeprefix("name: p\n") + "steps: {t: {from: tx, where: true, with_columns: {one: 1}, "
                                           "select: [a, {b: c}], drop: [b]}}",
    ],
)  # fmt: skip
def test_good_documents_fit_and_load(validator: Draft202012Validator, good: str) -> None:
    assert faults(validator, "name: p\n" + good) == []
    assert Pipeline.from_yaml_text("name: p\n" + good)


@pytest.mark.parametrize(
    "bad",
    [
        "sorces: {}",
        "sources: {tx: {schema: a int}}",
        "sources: {tx: {feed: {}, kafka: {servers: a:1, topic: b}}}",
        "sources: {tx: {kafka: {servers: a:1}}}",
        "sources: {tx: {kafka: {servers: a:1, topic: b, min_tasks: 0}}}",
        "sources: {tx: {kafka: {servers: a:1, topic: b}, format: jsn}}",
        "sources: {tx: {feed: {}, event_time: {colum: ts}}}",
        "sources: {tx y: {feed: {}, schema: a int}}",
        "steps: {a: {where: x}}",
        "steps: {a: {from: tx, wher: x}}",
        "steps: {a: {from: tx, key_by: x}}",
        "steps: {a: {from: tx, window: {tumblin: 1 hour}, aggregate: {n: count(*)}}}",
        "steps: {a: {from: tx, window: {sliding: 1 hour}, aggregate: {n: count(*)}}}",
        "steps: {a: {from: tx, window: global, emit: {mode: x}, aggregate: {n: count(*)}}}",
        "steps: {a: {from: tx, aggregate: {}}}",
        "steps: {a: {union: [tx]}}",
        "steps: {a: {from: tx, lookup: {feed: {}}}}",
        "sinks: {out: {feed: {}}}",
        "sinks: {out: {from: tx, feed: {}, mode: upsert}}",
    ],
)
def test_what_does_not_load_does_not_fit(validator: Draft202012Validator, bad: str) -> None:
    assert faults(validator, "name: p\n" + bad) != []
    with pytest.raises(DocumentError):
        Pipeline.from_yaml_text("name: p\n" + bad)


def test_documents_of_examples_and_transcripts_fit() -> None:
    validator, documents = Draft202012Validator(document_schema(registry.built_in())), 0
    for path in [*ROOT.glob("examples/*/pipeline.yaml"), *ROOT.glob("tests/transcripts/*/contract.yaml")]:
        for document in YAML(typ="safe", pure=True).load_all(path.read_text()):
            pipeline = document.get("pipeline", document)
            if isinstance(pipeline, dict):
                errors = [error.message for error in validator.iter_errors({"name": "case", **pipeline})]
                assert errors == [], path
                documents += 1
    assert documents > 20


def test_every_reference_inside_the_schema_leads_somewhere() -> None:
    schema = document_schema(KINDS)
    names = set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(schema)))
    assert names <= set(schema["$defs"])


def test_the_shipped_schema_is_up_to_date() -> None:
    assert PATH.read_text(encoding="utf-8") == json_text(), "run: python -m headrace.yaml"


def test_options_keep_their_descriptions() -> None:
    shown: Any = document_schema(["files"])["$defs"]["Files"]["properties"]["max_files_per_batch"]
    assert shown["description"].startswith("The maximum number of files per epoch")
