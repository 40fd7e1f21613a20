"""The base of step models: the keys that one kind of step adds to an entry of a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic_core import InitErrorDetails

from headrace.steps.base import Node, Ref
from headrace.steps.grammar.model import DocumentModel, Grammar
from headrace.steps.grammar.problems import MISSING_KEY, invalid, problem_at

KEY_BY = "key_by"
OTHER = "other"
"""The field of a model and of its node that refers to a second input."""


class Slot(IntEnum):
    """The position of a step in its entry; the keys of an entry apply in this order."""

    UNION = 0
    WHERE = 1
    WITH_COLUMNS = 2
    TIME = 3
    CHANGELOG = 4
    OPERATION = 5
    SELECT = 6
    DROP = 7


@dataclass(frozen=True)
class Inputs:
    """The outputs that an entry reads."""

    refs: tuple[Ref, ...] = ()
    """The output of `from` or the outputs of `union`, then the second input of the operation, if any."""
    tables: Mapping[str, Ref] = field(default_factory=dict)
    """The streams that a query can read, by table name."""


@dataclass(frozen=True)
class PaletteEntry:
    """An entry of the palette of the flow editor: its group and title, and the keys of a new step."""

    group: str
    title: str
    content: Mapping[str, Any]


class StepKeys(Grammar):
    """The keys that one kind of step adds to an entry of a document."""

    key: ClassVar[str] = ""
    """The key that selects this kind of step."""
    slot: ClassVar[Slot] = Slot.OPERATION
    other_key: ClassVar[str] = ""
    """The key in the value of `key` that names a second input; empty if there is none."""

    palette: ClassVar[PaletteEntry | None] = None
    """Its entry in the palette of the flow editor."""
    loads_code: ClassVar[bool] = False
    """True if the step imports Python of the user."""

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True if an entry with these keys contains this kind of step."""
        return cls.key in keys

    @classmethod
    def translate(cls, error: Any, data: Mapping[str, Any]) -> InitErrorDetails | None:
        """Translate the error about a missing key; the base translates others."""
        if error["type"] == "missing" and error["loc"] == (KEY_BY,):
            problem = invalid(f"{cls.key} requires a key", "such as key_by: card", kind=MISSING_KEY)
            return problem_at(error["loc"], problem)
        return super().translate(error, data)

    if TYPE_CHECKING:

        def build(self, name: str, inputs: Inputs) -> Node:
            """Return the node of the step."""

        @classmethod
        def represents(cls, node: Node) -> bool:
            """True if this model represents the node."""

        @classmethod
        def from_values(cls, source: Any) -> Self:
            """Return the model of a node."""

        def document(self, context: Any = None) -> Any:
            """Return the keys and their values."""


class StepModel(StepKeys, DocumentModel):
    """A kind of step whose node is another class, with the fields of the model as attributes."""

    node: ClassVar[type[Node] | tuple[type[Node], ...]]
    key: ClassVar[str] = ""
    slot: ClassVar[Slot] = Slot.OPERATION
    other_key: ClassVar[str] = ""
    loads_code: ClassVar[bool] = False

    def build(self, name: str, inputs: Inputs) -> Node:
        """Return the node of the step; the fields of the model are the attributes of the node."""
        assert isinstance(self.node, type)
        values = {field: value for field, value in self.values().items() if field != OTHER}
        refs = inputs.refs[:2] if self.other_key else inputs.refs[:1]
        return self.node(name, *refs, **values)

    @classmethod
    def represents(cls, node: Node) -> bool:
        """True if this model represents the node."""
        return isinstance(node, cls.node)
