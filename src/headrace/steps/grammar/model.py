"""The bases of document models: reading, dump and JSON Schema of a mapping are derived from its fields."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticSerializationError, core_schema

from headrace.errors import HeadraceError, did_you_mean
from headrace.steps.grammar.problems import (
    MISSING_KEY,
    UNKNOWN_KEY,
    collect_errors,
    details_of,
    expect,
    invalid,
    problem_at,
    raise_at,
    translate_error,
    validation_error,
)

T = TypeVar("T")
EXTRA = ("extra_forbidden", "unexpected_keyword_argument")
"""Types of pydantic's errors about unknown keys of models and of dataclasses."""


@contextmanager
def unwrap_errors() -> Iterator[None]:
    """Raise the original errors of serializers, which pydantic wraps at every level of a model."""
    try:
        yield
    except PydanticSerializationError as error:
        raise error.__cause__ or error from None


class _Prepared(dict[str, Any]):
    """Prepared values; pydantic validates a recursive type twice, for its reference and its definition."""


class Grammar:
    """How a mapping of a document is read and written; pydantic models of both kinds share it."""

    label: ClassVar[str] = ""
    """The name of the mapping in errors."""
    example: ClassVar[str] = ""
    """The hint of errors about its keys."""
    short: ClassVar[str] = ""
    """The key that a value without a mapping stands for: `{session: 30 seconds}`."""
    forms: ClassVar[tuple[JsonSchemaValue, ...]] = ()
    """JSON Schemas of other values that `prepare` accepts."""
    internal: ClassVar[Mapping[str, Any]] = {}
    """Fields that are not keys of the document, with their values while it is read."""
    __pydantic_fields__: ClassVar[dict[str, FieldInfo]]

    if TYPE_CHECKING:

        @classmethod
        def model_validate(cls, obj: Any, **options: Any) -> Self:
            """Return the model of a value of a document."""

    @classmethod
    def read(cls, value: Any, handler: Callable[[Any], Self]) -> Self:
        """Validate a value of a document, and report all its problems with their paths."""
        if isinstance(value, _Prepared):
            return handler(value)
        data = cls.prepare(value)
        empty = [key for key, item in data.items() if item is None and cls._is_optional(key)]
        details = [problem_at((key,), expect(f"a value for `{key}`", cls.example)) for key in empty]
        details += [cls._unknown_key(key) for key in data if key in (*cls.internal, *cls.internal_keys())]
        try:
            values = {key: item for key, item in data.items() if key not in empty}
            model = handler(_Prepared({**values, **cls.internal}))
            if not details:
                model.check_values()
                return model
        except HeadraceError as error:
            option = error.where.rpartition(": ")[2]
            details = [problem_at((option,) if option in data else (), translate_error(error))]
        except ValidationError as error:
            errors = [item for item in error.errors() if item["loc"][:1] not in [(key,) for key in empty]]
            details += [problem for item in errors if (problem := cls.translate(item, data)) is not None]
        raise validation_error(details)

    @classmethod
    def prepare(cls, value: Any) -> dict[str, Any]:
        """Return the keys and values of a mapping or of its short form."""
        if isinstance(value, Mapping):
            return dict(value)
        if cls.short and value is not None:
            return {cls.short: value}
        raise expect(f"the keys of {cls.label}", cls.example)

    def check_values(self) -> None:
        """Check the values together."""

    @classmethod
    def _is_optional(cls, key: str) -> bool:
        """True if None stands for a key that is not set; in a document such a key has no value."""
        name = cls.field_names().get(key)
        return name is not None and type(None) in get_args(cls.__pydantic_fields__[name].annotation)

    @classmethod
    def field_names(cls) -> dict[str, str]:
        """Return the fields of the model by their keys in a document."""
        fields = cls.__pydantic_fields__.items()
        return {field.alias or name: name for name, field in fields if name not in cls.internal}

    @classmethod
    def internal_keys(cls) -> list[str]:
        """Return the keys that the internal fields would have."""
        return [cls.__pydantic_fields__[name].alias or name for name in cls.internal]

    @classmethod
    def translate(cls, error: Any, data: Mapping[str, Any]) -> InitErrorDetails | None:
        """Translate an error about the keys of this mapping; None if it is a consequence of another error."""
        key = str(error["loc"][0]) if len(error["loc"]) == 1 else ""
        if error["type"] in EXTRA and key:
            return cls._unknown_key(key)
        if error["type"] == "missing" and key:
            what = f"`{key}` of {cls.label} is missing"
            return problem_at(error["loc"], invalid(what, cls.example, kind=MISSING_KEY))
        return details_of(error)

    @classmethod
    def _unknown_key(cls, key: str) -> InitErrorDetails:
        hint = did_you_mean(key, cls.field_names())
        return problem_at((key,), invalid(f"unknown key `{key}` in {cls.label}", hint, kind=UNKNOWN_KEY))

    def shorten(self, data: dict[str, Any]) -> Any:
        """Return the shortest form of the serialized fields."""
        short = list(data) == [self.short] and not isinstance(data[self.short], dict)
        return data[self.short] if short else data

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        properties = schema.get("properties", {})
        internal = cls.internal_keys()
        for key in internal:
            del properties[key]
        if internal and "required" in schema:
            schema["required"] = [key for key in schema["required"] if key not in internal]
        for item in properties.values():
            _drop_null(item)
        if cls.short or cls.forms:
            long = {key: schema.pop(key) for key in list(schema) if key != "description"}
            short = [long["properties"][cls.short]] if cls.short else []
            schema["anyOf"] = [*short, *cls.forms, long]
        return schema


class DocumentModel(Grammar, BaseModel):
    """A mapping of a document with known keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    label: ClassVar[str] = ""
    example: ClassVar[str] = ""
    short: ClassVar[str] = ""

    @model_validator(mode="wrap")
    @classmethod
    def _validate(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        return value if isinstance(value, cls) else cls.read(value, handler)

    def check_values(self) -> None:
        self.check()

    def check(self) -> None:
        """Check the values together."""

    @model_serializer(mode="wrap")
    def _serialize(self, handler: SerializerFunctionWrapHandler) -> Any:
        with unwrap_errors():
            data = handler(self)
        # For a recursive model pydantic calls this twice: for its reference and for its definition.
        return self.shorten(data) if isinstance(data, dict) else data

    def document(self) -> Any:
        """Return the plain value of this model in a document, in its shortest form.

        Raises:
            OptionError: a document cannot represent one of the values.
        """
        with unwrap_errors():
            return self.model_dump(by_alias=True, exclude_unset=True)

    def values(self) -> dict[str, Any]:
        """Return the values of the fields; those of nested models are merged."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        nested = [value.values() for value in fields.values() if isinstance(value, DocumentModel)]
        own = {name: value for name, value in fields.items() if not isinstance(value, DocumentModel)}
        return {key: value for values in (own, *nested) for key, value in values.items()}

    @classmethod
    def from_values(cls, source: Any) -> Self:
        """Return the model with the attributes of an object as values; defaults are not set."""
        values: dict[str, Any] = {}
        for name, field in cls.model_fields.items():
            model: Any = field.annotation
            nested = isinstance(model, type) and issubclass(model, DocumentModel)
            value = model.from_values(source) if nested else getattr(source, name)
            if nested or field.is_required() or value != field.default:
                values[name] = value
        return cast("Self", cls.model_construct(set(values), **values))


def _drop_null(schema: JsonSchemaValue) -> None:
    schema.pop("default", None)
    rest = [item for item in schema.get("anyOf", ()) if item != {"type": "null"}]
    if len(rest) == 1 and "anyOf" in schema:
        del schema["anyOf"]
        schema |= rest[0]
    elif rest:
        schema["anyOf"] = rest


class DeclarationModel(DocumentModel, Generic[T]):
    """A mapping that stands for a declaration such as a window; `from_values` is the inverse of `build`."""

    def check(self) -> None:
        self.build()

    @abstractmethod
    def build(self) -> T:
        """Return the declaration."""


@dataclass(frozen=True)
class Written:
    """Annotates a type with its form in documents, and with functions that convert from and to it."""

    form: Any
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]
    accept: Callable[[Any], Any] | None = None
    """Converts a value of Python; default: unchanged, because it has been checked."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        accept = self.accept and partial(collect_errors, self.accept)
        return core_schema.lax_or_strict_schema(
            core_schema.no_info_after_validator_function(self.read, handler.generate_schema(self.form)),
            core_schema.any_schema()
            if accept is None
            else core_schema.no_info_plain_validator_function(accept),
            serialization=core_schema.plain_serializer_function_ser_schema(self.write),
        )


def write_as(model: type[DeclarationModel[T]]) -> Written:
    """Annotate the type of a declaration with its model in documents."""
    return Written(model, model.build, lambda declaration: model.from_values(declaration).document())


class OneKey(DocumentModel):
    """A mapping with exactly one of its keys, such as `{tumbling: 10 minutes}`.

    A bare word is a key without a value.
    """

    model_config = ConfigDict(defer_build=True)

    bare: ClassVar[frozenset[str]] = frozenset()
    """The keys that need no value."""

    @property
    def value(self) -> Any:
        """The value of the key."""
        [name] = self.model_fields_set
        return getattr(self, name)

    @classmethod
    def prepare(cls, value: Any) -> dict[str, Any]:
        """Return the one key and its value."""
        data = {value: None} if isinstance(value, str) else value
        if not isinstance(data, Mapping) or not data:
            raise expect(f"one {cls.label}", cls.example)
        if len(data) > 1:
            raise invalid(f"expected one {cls.label}, got the keys {', '.join(data)}", cls.example)
        [(key, item)] = data.items()
        if key not in cls.field_names():
            error = invalid(
                f"unknown {cls.label} `{key}`", did_you_mean(key, cls.field_names()), kind=UNKNOWN_KEY
            )
            raise_at((key,), error)
        return {key: {} if item is None else item}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = super().__get_pydantic_json_schema__(core, handler)
        schema.update(minProperties=1, maxProperties=1)
        if cls.bare:
            mapping = {key: schema.pop(key) for key in list(schema) if key != "description"}
            schema["anyOf"] = [mapping, {"enum": sorted(cls.bare)}]
        return schema
