"""The JSON Schema of a document, for editors: completion, descriptions, and red lines before anything is run.

It is made from what reads documents: the option models of connectors and formats, and the tables of windows and
triggers. `python -m headrace.yaml` writes `schema.json` beside this module anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from headrace import formats
from headrace.connectors import registry
from headrace.connectors.base import Connector, Role, WriteMode
from headrace.steps.base import NAME
from headrace.steps.endpoints.source import OnError
from headrace.steps.rows.lookup import LookupHow
from headrace.triggers import LateRows, Mode
from headrace.windows import Order
from headrace.yaml.matching import FIRST, FLAGS, VERBS
from headrace.yaml.windowing import LISTS, WINDOWS, ArgumentKind, WindowWord

Schema = dict[str, Any]
SHIPPED = Path(__file__).with_name("schema.json")
_VARIABLE = {"type": "string", "pattern": r"\$\{"}
_TEXT: Schema = {"type": ["string", "number", "boolean"]}
_NAME = f"^{NAME.pattern}$"
_STEP_NAME = f"^{NAME.pattern}(:[a-z_]+(:[0-9]+)?)?$"
"""Also the made-up name of a step that has none, as `dump` writes it."""


def document_schema(kinds: Iterable[str] | None = None) -> Schema:
    """The JSON Schema of a document.

    Args:
        kinds: the connectors it knows; all that are installed if None.

    >>> sorted(document_schema(["memory"])["properties"])
    ['name', 'sinks', 'sources', 'steps']
    """
    models = {kind: registry.connector(kind) for kind in (registry.kinds() if kinds is None else kinds)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Headrace pipeline",
        "type": "object",
        "properties": {
            "name": _said("The pipeline's name, in metrics, checkpoints and delivery ledgers", type="string"),
            "sources": _section("What is read, by name", "source", _NAME),
            "steps": _section("What is computed, by name, in any order", "step", _STEP_NAME),
            "sinks": _section("Where results are written, by name", "sink", _NAME),
        },
        "required": ["name"],
        "additionalProperties": False,
        "$defs": {**_words(), **_entries(models), **_models(models.values())},
    }


def shipped_text() -> str:
    """The text of `schema.json`: the schema with the connectors that come with Headrace."""
    return json.dumps(document_schema(registry.ours()), indent=2, ensure_ascii=False) + "\n"


def _section(what: str, entry: str, name: str) -> Schema:
    return {
        "description": what,
        "type": ["object", "null"],
        "propertyNames": {"pattern": name},
        "additionalProperties": {"$ref": f"#/$defs/{entry}"},
    }


def _words() -> dict[str, Schema]:
    """What stands inside entries, whatever the connectors."""
    text = {"$ref": "#/$defs/text"}
    named = {"type": "object", "additionalProperties": text, "minProperties": 1}
    items = {"type": "array", "items": {"anyOf": [text, named]}, "minItems": 1}
    return {
        "text": _TEXT,
        "length": {
            "type": "string",
            "pattern": r"[0-9]\s*[a-zA-Z]+|\$\{",
            "examples": ["30 seconds", "1 hour"],
        },
        "rows": {"anyOf": [{"type": "integer", "minimum": 1}, _VARIABLE]},
        "flag": {"anyOf": [{"type": "boolean"}, _VARIABLE]},
        "names": {"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]},
        "named": named,
        "columns": {"anyOf": [text, named, items]},
        "schema": {"anyOf": [{"type": "string"}, named]},
        "clock": {"enum": [True, False, {}, None]},
        "window": _window(),
        "trigger": _trigger(),
        "emit": _emit(),
        "match": _match(),
        "pattern_steps": {"type": "array", "items": {"$ref": "#/$defs/pattern_step"}, "minItems": 1},
        "pattern_step": _pattern_step(),
        "event_time": _event_time(),
        "format": _format(),
    }


def _window() -> Schema:
    long = {name: _window_word(word) for name, word in WINDOWS.items()}
    bare = [name for name, word in WINDOWS.items() if not word.arguments]
    return {"anyOf": [_one_of(long), {"enum": bare}]}


def _window_word(word: WindowWord) -> Schema:
    arguments = {key: _argument(kind) for key, kind in word.arguments.items()}
    long = _closed(arguments, required=word.required)
    what = (word.make.__doc__ or "").partition("\n")[0]
    if word.main:
        return {"description": what, "anyOf": [arguments[word.main], long]}
    return {"description": what, **long, "type": ["object", "null"] if not arguments else "object"}


def _argument(kind: ArgumentKind) -> Schema:
    if kind == "order":
        return {"enum": list(get_args(Order))}
    if kind == "number":
        return {"anyOf": [{"type": "number"}, _VARIABLE]}
    return {"$ref": f"#/$defs/{'text' if kind == 'expression' else kind}"}


def _trigger() -> Schema:
    trigger = {"$ref": "#/$defs/trigger"}
    several = {"type": "array", "items": trigger, "minItems": 1}
    words = {
        "every": {"$ref": "#/$defs/length"},
        "after_count": {"$ref": "#/$defs/rows"},
        "after_watermark": _closed({"early": trigger, "late": trigger}) | {"type": ["object", "null"]},
        **dict.fromkeys(LISTS, several),
        "repeatedly": trigger,
        "or_finally": several | {"minItems": 2, "maxItems": 2},
    }
    return {"anyOf": [_one_of(words), {"const": "after_watermark"}]}


def _emit() -> Schema:
    trigger = {"$ref": "#/$defs/trigger"}
    return _closed(
        {
            "early": _said("Fires before the watermark passes the window's end, repeatedly", **trigger),
            "late": _said("Fires after it, repeatedly", **trigger),
            "trigger": _said("The long form, instead of early and late", **trigger),
            "lateness": _said("How long after its end a window takes rows", **{"$ref": "#/$defs/length"}),
            "mode": _said("How results refine each other", enum=list(get_args(Mode))),
            "allow_loss": _said("Take a trigger that may leave rows unemitted", **{"$ref": "#/$defs/flag"}),
            "late_rows": _said(
                "Whether late rows are an output or only counted", enum=list(get_args(LateRows))
            ),
        }
    )


def _match() -> Schema:
    length, text = {"$ref": "#/$defs/length"}, {"$ref": "#/$defs/text"}
    to_step = _one_of({"to_first": text, "to_last": text})
    return _closed(
        {
            "steps": _said("The steps of the pattern, in order", **{"$ref": "#/$defs/pattern_steps"}),
            "within": _said(
                "The longest time from the first row to the last, or between rows",
                anyOf=[length, _closed({"whole": length, "between": length})],
            ),
            "skip": _said(
                "Where the search goes on after a match",
                anyOf=[{"enum": ["none", "past_last", "to_next"]}, to_step],
            ),
            "order": _said(
                "Whether rows are taken by event time or as they come", enum=list(get_args(Order))
            ),
            "select": _said("What a match gives, by name", **{"$ref": "#/$defs/named"}),
            **_fates(),
        },
        required=("steps",),
    )


def _fates() -> dict[str, Schema]:
    fates = list(get_args(LateRows))
    return {
        "late_rows": _said("Whether late rows are an output or only counted", enum=fates),
        "timeouts": _said("Whether matches that time out are an output or only counted", enum=fates),
    }


def _match_rules(models: dict[str, type[Connector]]) -> Schema:
    tables = {
        kind: {"anyOf": [_ref(model), {"type": "null"}]} for kind, model in models.items() if model.listable
    }
    table: Schema = {"anyOf": [{"type": "string"}, _one_of(tables)]} if tables else {"type": "string"}
    return _closed(
        {
            "rules": _said("A file of rules, or a table of a database", **table),
            "measures": _said("The columns that matches of all rules give", **{"$ref": "#/$defs/schema"}),
            "order": _said(
                "Whether rows are taken by event time or as they come", enum=list(get_args(Order))
            ),
            "longest": _said("The longest `within` that a rule may have", **{"$ref": "#/$defs/length"}),
            **_fates(),
        },
        required=("rules",),
    )


def _pattern_step() -> Schema:
    text, number = {"$ref": "#/$defs/text"}, {"type": "integer", "minimum": 0}
    steps, one = {"$ref": "#/$defs/pattern_steps"}, {"$ref": "#/$defs/pattern_step"}
    either = _closed(
        {"either": {"type": "array", "items": {"anyOf": [one, steps]}, "minItems": 2}}, ("either",)
    )
    body: Schema = {"anyOf": [text, steps, either]}
    said: dict[str, Schema] = {
        **dict.fromkeys((FIRST, *VERBS), body),
        "times": {"anyOf": [number, _closed({"from": number, "to": number}, ("from",))]},
        **{word: {"$ref": "#/$defs/flag"} for word in FLAGS},
        "until": text,
        "gap": {"$ref": "#/$defs/length"},
    }
    content = {"anyOf": [text, steps, _closed(said)]}
    return {"type": "object", "additionalProperties": content, "minProperties": 1, "maxProperties": 1}


def _event_time() -> Schema:
    text, length = {"$ref": "#/$defs/text"}, {"$ref": "#/$defs/length"}
    long = _closed(
        {
            "column": _said("A timestamp column", **text),
            "out_of_order": _said("How far behind the newest row a row may come", **length),
            "idle": _said("After so long without a row the watermark goes on with the clock", **length),
            "watermark_when": _said("Only rows that satisfy this move the watermark", **text),
            "max_ahead": _said("Rows further ahead of the clock than this are late", **length),
        },
        required=("column",),
    )
    return {"anyOf": [{"type": "string"}, long]}


def _format() -> Schema:
    models = {name: {"anyOf": [_ref(formats.get(name)), {"type": "null"}]} for name in formats.names()}
    return {"anyOf": [{"enum": list(formats.names())}, _one_of(models)]}


def _entries(models: dict[str, type[Connector]]) -> dict[str, Schema]:
    times = {
        "event_time": _said(
            "The column that is event time, and the watermark", **{"$ref": "#/$defs/event_time"}
        ),
        "ingestion_time": _said(
            "Time is the clock of the batch that read the row", **{"$ref": "#/$defs/clock"}
        ),
        "processing_time": _said("Time is the clock at the step", **{"$ref": "#/$defs/clock"}),
    }
    source = {
        "format": _said("How records are written", **{"$ref": "#/$defs/format"}),
        "schema": _said("The columns, as Spark's DDL text", **{"$ref": "#/$defs/schema"}),
        "on_error": _said("What happens to a record that doesn't decode", enum=list(get_args(OnError))),
        **times,
    }
    sink = {
        "from": _said("The step or output that is written", type="string"),
        "mode": _said("For running aggregates: update or complete", enum=list(get_args(WriteMode))),
    }
    return {
        "source": _with_connector(models, "source", source),
        "step": _step(models, times),
        "sink": _with_connector(models, "sink", sink, required=("from",)),
    }


def _step(models: dict[str, type[Connector]], times: dict[str, Schema]) -> Schema:
    names, named, columns = ({"$ref": f"#/$defs/{word}"} for word in ("names", "named", "columns"))
    lookup = {
        "on": _said("The columns that both sides have", **names),
        "how": _said("Whether a row that finds nothing passes", enum=list(get_args(LookupHow))),
        "format": {"$ref": "#/$defs/format"},
        "schema": {"$ref": "#/$defs/schema"},
    }
    distinct = _closed({"on": names, "within": {"$ref": "#/$defs/length"}}, required=("on",))
    keys = {
        "from": _said("The source, step or output that is read: tx, totals, totals.late", type="string"),
        "union": _said("Streams whose rows are put together", type="array", items={"type": "string"}, minItems=2),
        "where": _said("Keeps rows that satisfy a condition", **{"$ref": "#/$defs/text"}),
        "with_columns": _said("Adds or replaces columns", **named),
        **times,
        "key_by": _said("Groups by columns or expressions", **columns),
        "window": _said("Groups by time or by order", **{"$ref": "#/$defs/window"}),
        "ttl": _said("Expires the state of a key this long after its last row", **{"$ref": "#/$defs/length"}),
        "emit": _said("When windows give results, and how these refine each other", **{"$ref": "#/$defs/emit"}),
        "aggregate": _said("Names and aggregates in Spark SQL", **named),
        "match": _said("Finds a pattern in the rows of each key", **{"$ref": "#/$defs/match"}),
        "match_rules": _said("Finds the patterns of a table of rules, which may change while the job runs", **_match_rules(models)),
        "lookup": _said("Adds the columns of a table's row", **_with_connector(models, "table", lookup, ("on",))),
        "distinct": _said("Drops repeated rows", anyOf=[distinct, names]),
        "route": _said("Named outputs by condition; the first that holds", **named),
        "sql": _said("A query in Spark SQL over the document's streams, or over `this`, what `from` says", type="string"),
        "select": _said("Keeps and computes columns", **columns),
        "drop": _said("Removes columns", **names),
    }  # fmt: skip
    reads = [{"required": [key]} for key in ("from", "union", "sql")]
    needs = {"window": ["aggregate"], "emit": ["window"], "ttl": ["window"]}
    keyed = {"key_by": {"anyOf": [{"required": [word]} for word in ("aggregate", "match", "match_rules")]}}
    return _closed(keys) | {"anyOf": reads, "dependentRequired": needs, "dependentSchemas": keyed}


def _with_connector(
    models: dict[str, type[Connector]], role: Role, keys: dict[str, Schema], required: tuple[str, ...] = ()
) -> Schema:
    able = {kind: model for kind, model in models.items() if role in model.roles}
    words = {
        kind: {"description": _first_line(model), "anyOf": [_ref(model), {"type": "null"}]}
        for kind, model in able.items()
    }
    return _closed({**words, **keys}, required) | {"oneOf": [{"required": [kind]} for kind in able]}


def _models(connectors: Iterable[type[Connector]]) -> dict[str, Schema]:
    models: list[type[BaseModel]] = [*connectors, *(formats.get(name) for name in formats.names())]
    _, schema = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/$defs/{model}"
    )
    return {name: _lenient(found) for name, found in schema.get("$defs", {}).items()}


def _lenient(schema: Any) -> Any:
    """What a document may write for an option: a variable for a number, a number for a text."""
    if isinstance(schema, list):
        return [_lenient(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {
        key: value if key in ("default", "examples") else _lenient(value) for key, value in schema.items()
    }
    if inner.get("type") in ("integer", "number", "boolean"):
        kept = {key: inner.pop(key) for key in ("title", "description", "default") if key in inner}
        return {**kept, "anyOf": [inner, _VARIABLE]}
    if inner.get("type") == "string" and not {"pattern", "enum", "const", "minLength"} & set(inner):
        return inner | {"type": _TEXT["type"]}
    return inner


def _ref(model: type[BaseModel]) -> Schema:
    return {"$ref": f"#/$defs/{model.__name__}"}


def _one_of(words: dict[str, Schema]) -> Schema:
    """A mapping of exactly one of these; said so that editors complete the words."""
    return _closed(words) | {"minProperties": 1, "maxProperties": 1}


def _closed(keys: dict[str, Schema], required: Iterable[str] = ()) -> Schema:
    schema: Schema = {"type": "object", "properties": keys, "additionalProperties": False}
    return schema | {"required": list(required)} if required else schema


def _said(what: str, **schema: Any) -> Schema:
    return {"description": what, **schema}


def _first_line(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").strip().partition("\n")[0]
