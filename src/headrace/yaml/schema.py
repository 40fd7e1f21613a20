"""Generate the JSON Schema of documents, for editors, from the models of the grammar.

`python -m headrace.yaml` writes `schema.json` beside this module.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from headrace import formats
from headrace.connectors import registry
from headrace.connectors.base import Connector
from headrace.steps.base import NAME
from headrace.steps.endpoints.sink import SinkModel
from headrace.steps.endpoints.source import SourceModel
from headrace.yaml.entries import SOURCE_STEPS, STEPS, InputModel
from headrace.yaml.load import GENERATED_NAME

Schema = dict[str, Any]
PATH = Path(__file__).with_name("schema.json")
_VARIABLE = {"type": "string", "pattern": r"\$\{"}
_TEXT = ["string", "number", "boolean"]


def document_schema(kinds: Iterable[str] | None = None) -> Schema:
    """Return the JSON Schema of a document.

    Args:
        kinds: the connectors in it; default: all that are installed.

    >>> sorted(document_schema(["memory"])["properties"])
    ['name', 'sinks', 'sources', 'steps']
    """
    connectors = {kind: registry.connector(kind) for kind in (registry.kinds() if kinds is None else kinds)}
    definitions = _definitions([*connectors.values(), *map(formats.get, formats.names())])
    source = definitions.pop(SourceModel.__name__)
    for model in SOURCE_STEPS:
        source["properties"] |= definitions[model.__name__]["properties"]
    entries = {"source": source, "step": _step(definitions), "sink": definitions.pop(SinkModel.__name__)}
    description = "The name of the pipeline, in metrics, checkpoints and delivery ledgers"
    step_names = f"^({NAME.pattern}|{GENERATED_NAME.pattern})$"
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Headrace pipeline",
        "type": "object",
        "properties": {
            "name": {"description": description, "type": "string"},
            "sources": _section("The sources, by name", "source", f"^{NAME.pattern}$"),
            "steps": _section("The steps, by name, in any order", "step", step_names),
            "sinks": _section("The sinks, by name", "sink", f"^{NAME.pattern}$"),
        },
        "required": ["name"],
        "additionalProperties": False,
        "$defs": {**entries, **definitions},
    }
    completed: Schema = _complete(schema, connectors)
    return completed


def json_text() -> str:
    """Return the text of `schema.json`: the schema with the built-in connectors."""
    return json.dumps(document_schema(registry.built_in()), indent=2, ensure_ascii=False) + "\n"


def _definitions(options: list[type[BaseModel]]) -> dict[str, Schema]:
    models: list[Any] = [SourceModel, SinkModel, InputModel, *STEPS, *options]
    _, schema = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/$defs/{model}"
    )
    definitions: dict[str, Schema] = schema["$defs"]
    return definitions


def _step(definitions: dict[str, Schema]) -> Schema:
    """Return the schema of an entry of `steps`: the keys of all kinds of steps, and their dependencies."""
    properties: Schema = definitions.pop(InputModel.__name__)["properties"]
    needs: dict[str, list[Schema]] = {}
    dependent: set[str] = set()
    for model in STEPS:
        schema = definitions.pop(model.__name__)
        for key, value in schema["properties"].items():
            known = properties.get(key, value)
            properties[key] = value if known == value else {"anyOf": [known, value]}
            needs.setdefault(key, []).append({"required": schema["required"]})
            if key != model.key:
                dependent.add(key)
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "anyOf": [{"required": [key]} for key in ("from", "union", "sql")],
        "dependentSchemas": {key: {"anyOf": needs[key]} for key in needs if key in dependent},
    }


def _section(description: str, entry: str, names: str) -> Schema:
    return {
        "description": description,
        "type": ["object", "null"],
        "propertyNames": {"pattern": names},
        "additionalProperties": {"$ref": f"#/$defs/{entry}"},
    }


def _complete(schema: Any, connectors: Mapping[str, type[Connector]]) -> Any:
    """Add connectors to the mappings that have one; accept variables as numbers, and numbers as text."""
    if isinstance(schema, list):
        return [_complete(item, connectors) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = ("default", "examples", "enum", "const")
    inner = {
        "anyOf" if key == "oneOf" else key: item if key in kept else _complete(item, connectors)
        for key, item in schema.items()
        if not (key == "title" and isinstance(item, str) and "$schema" not in schema)
    }
    if "x-connectors" in inner:
        return _with_connectors(inner, inner.pop("x-connectors"), connectors)
    if inner.get("type") in ("integer", "number", "boolean"):
        head = {key: inner.pop(key) for key in ("description", "default") if key in inner}
        return {**head, "anyOf": [inner, _VARIABLE]}
    if inner.get("type") == "string" and not {"pattern", "enum", "const", "minLength"} & set(inner):
        return inner | {"type": _TEXT}
    return inner


def _with_connectors(schema: Schema, role: str, connectors: Mapping[str, type[Connector]]) -> Schema:
    usable = {
        kind: model
        for kind, model in connectors.items()
        if (model.listable if role == "rules" else role in model.roles)
    }
    properties = {
        kind: {
            "description": (model.__doc__ or "").strip().partition("\n")[0],
            "anyOf": [{"$ref": f"#/$defs/{model.__name__}"}, {"type": "null"}],
        }
        for kind, model in usable.items()
    }
    return {
        **schema,
        "properties": {**properties, **schema["properties"]},
        "additionalProperties": False,
        "required": schema.get("required", []),
        **({"oneOf": [{"required": [kind]} for kind in usable]} if usable else {}),
    }
