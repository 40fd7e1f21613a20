"""The operations of the flow editor on the text of a document.

An operation changes the lines of its entry, and the references to it; comments and order stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from headrace.access.effort import check_effort, limit_effort
from headrace.dashboard.editor.flow import edits
from headrace.dashboard.editor.flow.references import parse_value
from headrace.dashboard.editor.yaml_parts import FILE, compose_text

PathPart = str | int


class _Operation(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Add(_Operation):
    """Add an entry of the palette that reads `source`; `target` reads the new entry."""

    op: Literal["add"]
    item: str
    source: str = ""
    name: str = ""
    target: str = ""
    input: str = "from"


class Remove(_Operation):
    """Remove an entry; the references to it are removed as well."""

    op: Literal["remove"]
    name: str


class Rename(_Operation):
    """Rename an entry and all references to it."""

    op: Literal["rename"]
    name: str
    to: str


class Connect(_Operation):
    """Let an entry read an output; `input` is `from`, `union` or the key of the second input."""

    op: Literal["connect", "disconnect"]
    source: str
    target: str
    input: str = "from"


class Set(_Operation):
    """Set a value, given as data or as YAML text; without either, remove the key."""

    op: Literal["set"]
    path: list[PathPart]
    value: Any = None
    yaml: str | None = None


class Choose(_Operation):
    """Replace the key of a mapping that selects its kind, such as the kind of a window."""

    op: Literal["choose"]
    path: list[PathPart]
    key: str
    among: list[str] = []


Operation = Annotated[Add | Remove | Rename | Connect | Set | Choose, Field(discriminator="op")]


@dataclass(frozen=True)
class EditedDocument:
    """The text after the operations, and the entry that the last of them added or renamed."""

    document: str
    name: str = ""


def apply(text: str, operations: Sequence[Operation]) -> EditedDocument:
    r"""Apply operations to a document.

    >>> text = "name: p  # mine\nsources:\n  tx: {memory: {}}\n"
    >>> print(apply(text, [Rename(op="rename", name="tx", to="payments")]).document, end="")
    name: p  # mine
    sources:
      payments: {memory: {}}

    Raises:
        OptionError: an operation does not fit the document.
        DocumentError: the text is not YAML.
    """
    with limit_effort(FILE):
        return _apply_all(text, operations)


def _apply_all(text: str, operations: Sequence[Operation]) -> EditedDocument:
    compose_text(text)
    name = ""
    for operation in operations:
        check_effort()
        match operation:
            case Add():
                text, name = edits.add(text, operation.item, operation.source, operation.name)
                if operation.target:
                    text = edits.connect(text, name, operation.target, operation.input)
            case Remove():
                text, name = edits.remove(text, operation.name), ""
            case Rename():
                text, name = edits.rename(text, operation.name, operation.to), operation.to
            case Connect(op="connect"):
                text = edits.connect(text, operation.source, operation.target, operation.input)
            case Connect():
                text = edits.disconnect(text, operation.source, operation.target, operation.input)
            case Set():
                text = edits.set_option(text, tuple(operation.path), _value(operation))
            case Choose():
                text = edits.choose(text, tuple(operation.path), operation.key, operation.among)
    return EditedDocument(text, name)


def _value(operation: Set) -> Any:
    return operation.value if operation.yaml is None else parse_value(operation.yaml)
