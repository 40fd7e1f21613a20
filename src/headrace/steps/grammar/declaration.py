"""Declarations: frozen dataclasses of pydantic that Python constructs, YAML validates and the kernel reads.

A field is the one place of an option: its type, default and description. The JSON Schema, the forms of the
flow editor and the reference pages are derived from it. Python is strict and a document is not: `cache: "5"`
is a number there, because variables are text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform

from pydantic import (
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    create_model,
    model_serializer,
    model_validator,
)
from pydantic.dataclasses import dataclass
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import ArgsKwargs, CoreSchema, SchemaSerializer, SchemaValidator

from headrace.durations import text
from headrace.errors import HeadraceError, OptionError, Problem, did_you_mean
from headrace.steps.base import Node, Ref
from headrace.steps.grammar.model import EXTRA, Grammar, unwrap_errors
from headrace.steps.grammar.problems import describe_error
from headrace.steps.grammar.step import Inputs, StepKeys, StepModel
from headrace.steps.grammar.values import Length

T = TypeVar("T")
if TYPE_CHECKING:
    Input = Ref
else:  # no option: it is not validated, and has no JSON Schema
    Input = Any
# The schema of a class is built when it is first used: triggers refer to kinds that are declared later.
_CONFIG = ConfigDict(
    strict=True,
    extra="forbid",
    arbitrary_types_allowed=True,
    populate_by_name=True,
    defer_build=True,
    use_attribute_docstrings=True,
)


@dataclass_transform(frozen_default=True, field_specifiers=(Field,))
def declare(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass whose values are validated."""
    declared: Any = dataclass(cls, frozen=True, repr=False, config=_CONFIG)
    return declared  # type: ignore[no-any-return]


@declare
class Declaration(Grammar):
    """The base of declarations.

    An invalid value raises an `OptionError` in Python, and a problem with its position in a document.
    """

    __pydantic_validator__: ClassVar[SchemaValidator]
    __pydantic_serializer__: ClassVar[SchemaSerializer]

    @classmethod
    def of(cls, *values: Any, **options: Any) -> Self:
        """Return the declaration of values as users write them: text for a duration, a list of columns."""
        return cls(*values, **options)

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Return the declaration of a value of a document."""
        model: Self = cls.__pydantic_validator__.validate_python(obj, **options)
        return model

    @model_validator(mode="wrap")
    @classmethod
    def _validate(cls, value: Any, handler: ValidatorFunctionWrapHandler) -> Self:
        if isinstance(value, cls):
            return value
        if not isinstance(value, ArgsKwargs):
            return cls.read(value, handler)
        names = [field.name for field in fields(cls)]
        arguments = {**dict(zip(names, value.args, strict=False)), **(value.kwargs or {})}
        where = cls.location(arguments)
        try:
            declaration: Self = handler(value)
            declaration.check_values()
        except ValidationError as error:
            raise OptionError.of(_first_problem(cls, error, where, arguments)) from None
        except HeadraceError as error:
            location = ": ".join(part for part in (where, error.where) if part)
            raise type(error)(error.what, where=location, hint=error.hint) from None
        return declaration

    @classmethod
    def location(cls, arguments: Mapping[str, Any]) -> str:
        """Return the location of errors about these arguments in Python."""
        return cls.__name__.lower()

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON Schema, with the defaults of numbers and durations in their descriptions."""
        schema = super().__get_pydantic_json_schema__(core, handler)
        for key, item in schema.get("properties", {}).items():
            if "description" in item:
                default = cls.__pydantic_fields__[cls.field_names()[key]].default
                shown = (
                    text(default)
                    if isinstance(default, Length)
                    else f"{default:,}"
                    if type(default) is int
                    else ""
                )
                about = item["description"].removesuffix(".")
                item["description"] = f"{about}; default: {shown}" if default and shown else about
        return schema

    @model_serializer(mode="wrap")
    def _serialize(self, handler: SerializerFunctionWrapHandler) -> Any:
        with unwrap_errors():
            data = handler(self)
        return self.shorten({key: item for key, item in data.items() if key not in self.internal})

    def document(self) -> Any:
        """Return the plain value in a document, without defaults and in its shortest form.

        Raises:
            OptionError: a document cannot represent one of the values.
        """
        with unwrap_errors():
            return self.__pydantic_serializer__.to_python(self, by_alias=True, exclude_defaults=True)

    def __repr__(self) -> str:
        values = ((field, getattr(self, field.name)) for field in fields(self))
        shown = (f"{field.name}={_show(value)}" for field, value in values if value != field.default)
        return f"{type(self).__name__}({', '.join(shown)})"


def _show(value: object) -> str:
    return repr(text(value)) if isinstance(value, Length) else repr(value)


def _first_problem(
    cls: type[Declaration], error: ValidationError, where: str, arguments: Mapping[str, Any]
) -> Problem:
    """Translate the first error for Python; an unknown option may be a misspelling of one that is missing."""
    item: Any = min(error.errors(), key=lambda each: each["type"] not in EXTRA)
    names = list(arguments)
    path = [names[part] if n == 0 and isinstance(part, int) else part for n, part in enumerate(item["loc"])]
    option = str(path[0]) if path else ""
    if item["type"] in EXTRA:
        return Problem(where, f"unknown option `{option}`", did_you_mean(option, cls.field_names().values()))
    if item["type"] == "missing":
        field = cls.__pydantic_fields__[option]
        return Problem(where, f"option `{option}` is missing", f"`{option}` is {field.description}")
    value = arguments.get(option)
    for part in path[1:]:
        value = value[part] if isinstance(value, list | tuple) and isinstance(part, int) else value
    what, hint = describe_error(item, repr(value), text=value if isinstance(value, str) else "")
    place = item.get("ctx", {}).get("where") or option
    return Problem(f"{where}: {place}" if place else where, what, hint)


@declare
class StepNode(StepKeys, Declaration, Node):
    """A step whose options are its fields, in Python and in documents."""

    internal: ClassVar[Mapping[str, Any]] = {"name": "", "input": Ref("")}
    nested: ClassVar[bool] = False
    """True if the options are the value of `key`; otherwise they are keys of the entry, beside `from`."""

    @classmethod
    def location(cls, arguments: Mapping[str, Any]) -> str:
        """Return the name of the step."""
        return f"`{arguments.get('name')}`"

    @classmethod
    def represents(cls, node: Node) -> bool:
        """True if the node is of this kind."""
        return isinstance(node, cls)

    @classmethod
    def from_values(cls, source: Self) -> Self:
        """Return the node, which is its own model."""
        return source

    def build(self, name: str, inputs: Inputs) -> Self:
        """Return the node of a step in a document, with its name and inputs."""
        return replace(self, name=name, **dict(zip(("input", "other"), inputs.refs, strict=False)))


class NestedStep(StepModel):
    """An entry with the options of a `StepNode` as the value of one key."""

    options: StepNode

    def build(self, name: str, inputs: Inputs) -> Node:
        """Return the node of the step."""
        return self.options.build(name, inputs)

    @classmethod
    def from_values(cls, source: Any) -> Self:
        """Return the entry of a node."""
        model: Any = cls.model_construct(options=source)
        return model  # type: ignore[no-any-return]

    def document(self) -> Any:
        """Return the key and its value."""
        return {self.key: self.options.document()}


def step_model(node: type[StepNode]) -> type[StepKeys]:
    """Return the model that reads entries of a document with this kind of step."""
    if not node.nested:
        return node
    options: Any = (
        node,
        Field(alias=node.key, description=(node.__doc__ or "").partition("\n")[0].rstrip(".")),
    )
    model = create_model(f"{node.__name__}Step", __base__=NestedStep, options=options)
    model.node, model.key, model.slot, model.other_key = node, node.key, node.slot, node.other_key
    model.palette = node.palette
    return model
