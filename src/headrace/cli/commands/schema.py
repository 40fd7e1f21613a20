"""`headrace schema`: print the JSON Schema of documents; `headrace connectors`: the options of connectors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from headrace.cli.options import AsJson, flag
from headrace.cli.terminal.output import show_json, show_lines, width
from headrace.connectors import registry
from headrace.connectors.base import Connector
from headrace.connectors.roles import PLURALS, option_roles
from headrace.explain.text import Line, join_phrases

Option = tuple[str, str, Any, FieldInfo]
"""Name, type, default and declaration of an option."""


def schema(
    connectors: Annotated[
        bool, flag("--connectors", hidden=True, help="The spelling of 0.2 for `headrace connectors`.")
    ] = False,
    connector: Annotated[
        str | None, typer.Option(hidden=True, help="The spelling of 0.2 for `headrace connectors KIND`.")
    ] = None,
    json: Annotated[bool, flag("--json", hidden=True, help="With the options of connectors.")] = False,
) -> None:
    """Print the JSON Schema of pipeline documents.

    Editors validate and complete a document that begins with `# yaml-language-server:
    $schema=headrace.schema.json`.

    For example:

    - `headrace schema > headrace.schema.json`
    """
    if connectors or connector is not None:
        list_connectors(connector, json)
        return
    from headrace.yaml import document_schema

    show_json(document_schema())


def list_connectors(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="The connector; default: all.",
            autocompletion=lambda: list(registry.kinds()),
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """List the connectors and their options.

    For example:

    - `headrace connectors`
    - `headrace connectors kafka`
    """
    models = [registry.connector(name) for name in ([kind] if kind else registry.kinds())]
    if json:
        show_json([_plain(model) for model in models])
    else:
        for model in models:
            show_lines(_lines(model, width()))


def _plain(model: type[Connector]) -> dict[str, Any]:
    roles = option_roles(model)
    return {
        "connector": model.kind,
        "roles": sorted(model.roles),
        "delivers": model.delivers if "sink" in model.roles else None,
        "about": _about(model),
        "options": [
            {
                "name": name,
                "roles": sorted(roles[name]),
                "type": kind,
                "required": field.is_required(),
                "default": default,
                "about": field.description or "",
            }
            for name, kind, default, field in _options(model)
        ],
    }


def _lines(model: type[Connector], width: int) -> Iterator[Line]:
    roles = ", ".join(sorted(model.roles))
    delivers = f" · delivers {model.delivers.replace('_', ' ')}" if "sink" in model.roles else ""
    yield (model.kind, "title"), (f"   {roles}{delivers}", "verb")
    yield ((f"  {_about(model)}", "fact"),)
    options = list(_options(model))
    wide = max((len(name) for name, *_ in options), default=0) + 2
    for group, members in groupby(
        _by_role(model, options), key=lambda option: option_roles(model)[option[0]]
    ):
        if group != model.roles:
            plurals = " and ".join(plural for role, plural in PLURALS.items() if role in group)
            yield ((f"  options of {plurals}:", "verb"),)
        for option in members:
            yield from _option_lines(option, wide, width)
    yield ()


def _by_role(model: type[Connector], options: list[Option]) -> list[Option]:
    """Sort the options: those of all roles first, then those of sources, then those of sinks."""
    roles = option_roles(model)
    return sorted(options, key=lambda option: (roles[option[0]] != model.roles, "sink" in roles[option[0]]))


def _option_lines(option: Option, wide: int, width: int) -> Iterator[Line]:
    name, kind, default, field = option
    implied = f"default {default}" if default not in (None, "", []) else ""
    head = f"  {name:<{wide}}"
    texts = (kind, "required" if field.is_required() else implied, field.description or "")
    parts = join_phrases([text for text in texts if text], width - len(head))
    yield (head, "name"), (parts[0], "fact")
    yield from (((" " * len(head), ""), (part, "fact")) for part in parts[1:])


def _options(model: type[Connector]) -> Iterator[Option]:
    properties = model.model_json_schema(mode="validation").get("properties", {})
    for name, field in model.model_fields.items():
        word = field.alias or name
        property_ = properties.get(word, properties.get(name, {}))
        default = None if field.default is PydanticUndefined else property_.get("default", field.default)
        yield word, _type(property_), default, field


def _type(property_: dict[str, Any]) -> str:
    """Format a JSON Schema type."""
    if "enum" in property_:
        return " | ".join(map(str, property_["enum"]))
    if "anyOf" in property_:
        return " or ".join(
            dict.fromkeys(_type(part) for part in property_["anyOf"] if part.get("type") != "null")
        )
    if property_.get("type") == "array":
        return f"list of {_type(property_.get('items', {}))}"
    kind = str(property_.get("type", "any"))
    return {"string": "text", "integer": "whole number", "object": "mapping"}.get(kind, kind)


def _about(model: type[Connector]) -> str:
    return (model.__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " ")
