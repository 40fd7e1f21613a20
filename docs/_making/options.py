"""Build the pages of connectors and formats from their option models and docstrings."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from headrace import formats
from headrace.connectors import registry
from headrace.connectors.base import Connector, Role
from headrace.connectors.generator import recipes
from headrace.connectors.generator.base import Recipe
from headrace.connectors.roles import PLURALS, option_roles

_ROLES = {"source": "read", "sink": "write", "table": "look up"}


def connectors_page() -> str:
    """Return the page with every connector: roles, guarantee, options."""
    kinds = [(kind, registry.connector(kind)) for kind in registry.kinds()]
    parts = [
        "# Connectors",
        "",
        "In Python `connect.<name>(...)`, in a document `<name>: {...}`. Both use one option model, from "
        "which this page is generated.",
        "",
        "| connector | read | write | look up | delivers |",
        "|---|---|---|---|---|",
        *(_row(kind, model) for kind, model in kinds),
        "",
    ]
    for kind, model in kinds:
        parts += [f"## {kind}", "", _prose(sys.modules[model.__module__]), "", _prose(model), ""]
        parts += _options_by_role(model)
        if kind == "generator":
            parts += ["### Recipes", "", _prose(recipes), "", *_recipes()]
    return "\n".join(parts) + "\n"


def formats_page() -> str:
    """Return the page with every format and its options."""
    parts = [
        "# Formats",
        "",
        'The encoding of records. Set it by name, `format="csv"`, or with options: `format={"csv": {"header": True}}` in Python, '
        "`format: {csv: {header: true}}` in a document.",
        "",
    ]
    for name in formats.names():
        model = formats.get(name)
        parts += [f"## {name}", "", _prose(model), "", *_option_table(model, list(model.model_fields))]
    return "\n".join(parts) + "\n"


def _recipes() -> Iterator[str]:
    yield "| recipe | generates | options |"
    yield "|---|---|---|"
    for name, model in sorted(recipes.KINDS.items()):
        options = [
            f"`{entry}` ({_cell(field.description or '')})" for entry, field in model.model_fields.items()
        ]
        own = [option for option in options if not option.startswith(("`by`", "`nulls`"))]
        yield f"| `{name}` | {_cell(_first(model))} | {'; '.join(own)} |"
    yield ""
    yield "Options of every recipe:"
    yield ""
    for entry in ("by", "nulls"):
        yield f"- `{entry}`: {Recipe.model_fields[entry].description}"
    yield ""


def _first(documented: Any) -> str:
    return " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())


def _row(kind: str, model: type[Connector]) -> str:
    roles = " | ".join("yes" if role in model.roles else "" for role in _ROLES)
    best = model.delivers.replace("_", " ") if "sink" in model.roles else ""
    return f"| [{kind}](#{kind}) | {roles} | {best} |"


def _options_by_role(model: type[Connector]) -> Iterator[str]:
    """Yield the tables of options: those of all roles first, then those of single roles."""
    roles = option_roles(model)
    groups: dict[frozenset[Role], list[str]] = {model.roles: []}
    for name, field in model.model_fields.items():
        groups.setdefault(roles[field.alias or name], []).append(name)
    for group, names in groups.items():
        if group != model.roles:
            plurals = " and ".join(plural for role, plural in PLURALS.items() if role in group)
            yield from (f"Options of {plurals}:", "")
        yield from _option_table(model, names)


def _option_table(model: type[BaseModel], names: list[str]) -> Iterator[str]:
    if not names:
        yield "No options."
        yield ""
        return
    yield "| option | type | default | description |"
    yield "|---|---|---|---|"
    for name in names:
        entry = model.model_fields[name]
        yield _option(entry.alias or name, entry, model)
    yield ""


def _option(name: str, entry: FieldInfo, model: type[BaseModel]) -> str:
    described = model.model_json_schema(by_alias=True)["properties"][name]
    default = "required" if entry.is_required() else _default(entry)
    return f"| `{name}` | {_type(described)} | {default} | {_cell(entry.description or '')} |"


def _default(entry: FieldInfo) -> str:
    value = entry.get_default(call_default_factory=True)
    return "" if value in (None, (), {}, "") else f"`{_cell(str(value))}`"


def _type(described: dict[str, Any]) -> str:
    if "enum" in described:
        return " or ".join(f"`{value}`" for value in described["enum"])
    if "const" in described:
        return f"`{described['const']}`"
    kinds = described.get("anyOf", [described])
    words = [_word(kind) for kind in kinds if kind.get("type") != "null"]
    return " or ".join(dict.fromkeys(word for word in words if word)) or "any"


def _word(kind: dict[str, Any]) -> str:
    if "enum" in kind or "const" in kind:
        return _type(kind)
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    return {**words, "array": "list", "object": "mapping"}.get(kind.get("type", ""), "")


def _prose(documented: Any) -> str:
    """Return a docstring with its examples as a block of Python."""
    lines, prose, example = (inspect.getdoc(documented) or "").splitlines(), [], []
    for line in lines:
        if line.startswith((">>>", "...")) or (example and line.strip()):
            example.append(line)
        else:
            prose.append(line)
    text = "\n".join(prose).strip()
    return text + ("\n\n```pycon\n" + "\n".join(example) + "\n```" if example else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
