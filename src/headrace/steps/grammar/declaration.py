"""Declarations: frozen dataclasses of pydantic that Python constructs, YAML validates and the kernel reads.

A field is the one place of an option: its type, default and description. The JSON Schema, the forms of the
flow editor and the reference pages are derived from it. Python is strict and a document is not: `cache: "5"`
is a number there, because variables are text.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform

from pydantic import (
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    create_model,
    model_serializer,
    model_validator,
)
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import ArgsKwargs, CoreSchema, SchemaSerializer, SchemaValidator, core_schema

from headrace.durations import text
from headrace.errors import HeadraceError, OptionError, Problem, did_you_mean
from headrace.steps.base import Node, Ref
from headrace.steps.grammar.model import EXTRA, Grammar, OneKey, unwrap_errors
from headrace.steps.grammar.problems import describe_error, expect
from headrace.steps.grammar.step import Inputs, StepKeys, StepModel
from headrace.steps.grammar.values import Length

T = TypeVar("T")
if TYPE_CHECKING:
    Input = Ref
else:  # no option: it is not validated, and has no JSON Schema
    Input = Any
# The schema of a class is built when it is first used: triggers refer to kinds that are declared later.
_CONFIG = ConfigDict(
    allow_inf_nan=False,
    strict=True,
    extra="forbid",
    arbitrary_types_allowed=True,
    populate_by_name=True,
    defer_build=True,
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
    def create(cls, *values: Any, **options: Any) -> Self:
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
        names = cls.field_names()
        for key, item in schema.get(
            "properties", schema.get("anyOf", [{}])[-1].get("properties", {})
        ).items():
            if about := cls.descriptions().get(names[key], ""):
                default = cls.__pydantic_fields__[names[key]].default
                item["description"] = about + _default_text(default)
        return schema

    @classmethod
    def descriptions(cls) -> dict[str, str]:
        """Return the descriptions of the fields: the texts below them, without the full stop."""
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0].body  # type: ignore[attr-defined]
        return {
            field.target.id: inspect.cleandoc(str(below.value.value)).removesuffix(".")
            for field, below in pairwise(body)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        }

    @model_serializer(mode="wrap")
    def _serialize(self, handler: SerializerFunctionWrapHandler) -> Any:
        with unwrap_errors():
            data = handler(self)
        internal = self.internal_keys()
        return self.shorten({key: item for key, item in data.items() if key not in internal})

    def document(self, context: Any = None) -> Any:
        """Return the plain value in a document, without defaults and in its shortest form.

        Args:
            context: `MICROSECONDS` for durations as numbers.

        Raises:
            OptionError: a document cannot represent one of the values.
        """
        with unwrap_errors():
            return self.__pydantic_serializer__.to_python(
                self, by_alias=True, exclude_defaults=True, context=context
            )

    def __repr__(self) -> str:
        values = ((field, getattr(self, field.name)) for field in fields(self))
        shown = (f"{field.name}={_show(value)}" for field, value in values if value != field.default)
        return f"{type(self).__name__}({', '.join(shown)})"


@declare
class Choice(Declaration):
    """A declaration of one of several kinds, written as a mapping with one key: `{tumbling: 10 minutes}`.

    A direct subclass is the base of the kinds; a field that accepts all of them has the type
    `Annotated[Window, OneOf()]`.
    """

    kind: ClassVar[str] = ""
    """The name of the kind: the key in a document; default: the name of the class."""
    bare: ClassVar[frozenset[str]] = frozenset()
    """The kinds that need no options."""
    inline: ClassVar[bool] = False
    """True if the value of the key is that of `short`, and never a mapping of options."""
    python_example: ClassVar[str] = ""
    """The hint of errors in Python."""

    def __init_subclass__(cls) -> None:
        if Choice not in cls.__bases__:
            if "kind" not in vars(cls):
                cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
            if "label" not in vars(cls):
                cls.label = f"the {cls.__base__.label} `{cls.kind}`"  # type: ignore[union-attr]

    @classmethod
    def location(cls, arguments: Mapping[str, Any]) -> str:
        """Return the name of the kind."""
        return cls.kind

    @classmethod
    def prepare(cls, value: Any) -> dict[str, Any]:
        """Return the options; an inline kind has one."""
        return {cls.short: value} if cls.inline else super().prepare(value)

    def shorten(self, data: dict[str, Any]) -> Any:
        """Return the shortest form of the serialized fields."""
        return data[self.short] if self.inline else super().shorten(data)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = super().__get_pydantic_json_schema__(core, handler)
        if cls.inline:
            value = cls.inline_schema(schema.get("anyOf", [schema])[-1]["properties"])
            schema.clear()
            schema.update(value)
        return schema

    @classmethod
    def inline_schema(cls, properties: dict[str, Any]) -> JsonSchemaValue:
        """Return the JSON Schema of the value of an inline kind."""
        value: JsonSchemaValue = properties[cls.short]
        return value


@dataclasses.dataclass(frozen=True)
class OneOf:
    """Annotates the base of kinds: the value is one of them, in a document a mapping with one key."""

    def __get_pydantic_core_schema__(self, base: type[Choice], handler: GetCoreSchemaHandler) -> CoreSchema:
        def pass_kind(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
            return value if isinstance(value, base) else validate(value)

        def require_kind(value: Any) -> Any:
            if not isinstance(value, base):
                raise expect(f"a {base.label}", base.python_example)
            return value

        mapping = core_schema.no_info_after_validator_function(
            lambda model: model.value,
            handler.generate_schema(_kinds_model(base)),  # type: ignore[arg-type]
        )
        return core_schema.lax_or_strict_schema(
            core_schema.no_info_wrap_validator_function(pass_kind, mapping),
            core_schema.no_info_plain_validator_function(require_kind),
            serialization=core_schema.plain_serializer_function_ser_schema(_write_kind, info_arg=True),
        )


@cache
def _kinds_model(base: type[Choice]) -> type[OneKey]:
    """Return the model of a mapping with one kind."""
    kinds: Any = {kind.kind: (kind | None, None) for kind in base.__subclasses__()}
    model = create_model(f"{base.__name__}Model", __base__=OneKey, __doc__=base.__doc__, **kinds)
    model.label, model.example, model.bare = base.label, base.example, base.bare
    return model


def _write_kind(choice: Choice, info: SerializationInfo) -> dict[str, Any]:
    return {choice.kind: choice.document(info.context)}


def _show(value: object) -> str:
    return repr(text(value)) if isinstance(value, Length) else repr(value)


def _default_text(default: object) -> str:
    """Return the default of a number or a duration for a description."""
    if isinstance(default, Length):
        return f"; default: {text(default)}" if default else ""
    return f"; default: {default:,}" if type(default) is int else ""


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
        about = cls.descriptions().get(option, "")
        hint = f"{about[:1].lower()}{about[1:]}"
        return Problem(where, f"option `{option}` is missing", hint)
    value = arguments.get(option)
    for part in path[1:]:
        value = value[part] if isinstance(value, list | tuple) and isinstance(part, int) else value
    what, hint = describe_error(item, repr(value), text=value if isinstance(value, str) else "")
    inline = issubclass(cls, Choice) and cls.inline  # its option has no name in documents either
    place = item.get("ctx", {}).get("where") or ("" if inline else option)
    return Problem(f"{where}: {place}" if place else where, what, hint)


@declare
class StepNode(StepKeys, Declaration, Node):
    """A step whose options are its fields, in Python and in documents."""

    internal: ClassVar[Mapping[str, Any]] = {"name": "", "input": Ref("")}
    nested: ClassVar[bool] = False
    """True if the options are the value of `key`; otherwise they are keys of the entry, beside `from`."""
    beside: ClassVar[Mapping[str, Any]] = {}
    """Options of a nested step that are keys of the entry; their values stand for them in that of `key`."""

    def __init_subclass__(cls) -> None:
        cls.internal = {**StepNode.internal, **cls.beside}

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

    node: ClassVar[type[StepNode]]
    options: StepNode

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        return cls.node.applies(keys)

    def build(self, name: str, inputs: Inputs) -> Node:
        """Return the node of the step."""
        node: Any = self.options.build(name, inputs)
        beside = {key: getattr(self, key) for key in self.options.beside}
        return replace(node, **beside) if beside else node  # type: ignore[no-any-return]

    @classmethod
    def from_values(cls, source: Any) -> Self:
        """Return the entry of a node."""
        beside = {key: getattr(source, key) for key in source.beside}
        model: Any = cls.model_construct(options=source, **beside)
        return model  # type: ignore[no-any-return]

    def document(self, context: Any = None) -> Any:
        """Return the key and its value."""
        return {
            **self.model_dump(by_alias=True, exclude={"options"}, exclude_defaults=True),
            self.key: self.options.document(),
        }


def step_model(node: type[StepNode]) -> type[StepKeys]:
    """Return the model that reads entries of a document with this kind of step."""
    if not node.nested:
        return node
    texts = node.descriptions()
    fields: Any = {
        name: (field.rebuild_annotation(), _described(field, texts.get(name)))
        for name, field in node.__pydantic_fields__.items()
        if name in node.beside
    }
    about = (node.__doc__ or "").partition("\n")[0].rstrip(".")
    fields["options"] = (node, Field(alias=node.key, description=about))
    model = create_model(f"{node.__name__}Step", __base__=NestedStep, **fields)
    model.node, model.key, model.slot, model.other_key = node, node.key, node.slot, node.other_key
    model.palette = node.palette
    return model


def _described(field: FieldInfo, about: str | None) -> Any:
    return Field(alias=field.alias, default=field.default, description=field.description or about)
