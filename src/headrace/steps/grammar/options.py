"""Schemas, formats and connectors as the values of documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    SecretStr,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from headrace import formats
from headrace.access.paths import check_path
from headrace.connectors import registry
from headrace.connectors.base import Connector, Role
from headrace.connectors.roles import misplaced_options
from headrace.errors import OptionError, did_you_mean, nearest
from headrace.formats import Format
from headrace.formats.option_problems import option_problems
from headrace.schemas.fields import Schema
from headrace.steps.grammar.model import EXTRA, DocumentModel, Grammar
from headrace.steps.grammar.problems import (
    INVALID,
    MISSING_KEY,
    UNKNOWN_KEY,
    collect_errors,
    expect,
    invalid,
    problem_at,
    raise_at,
    validation_error,
)
from headrace.steps.grammar.values import NAMED_SCHEMA, TEXT_SCHEMA

OPTION_TEXT = "option_text"
"""The error type of an option that requires text."""
_KINDS = {"missing": MISSING_KEY, "extra_forbidden": UNKNOWN_KEY, "string_type": OPTION_TEXT}


def _schema(value: Any) -> Schema:
    if isinstance(value, Schema):
        return value
    if isinstance(value, Mapping) and value:
        return Schema(tuple(field for name, kind in value.items() for field in _field(name, kind).fields))
    if not isinstance(value, str | type) or (isinstance(value, str) and not value.strip()):
        raise expect("a schema such as `card string, amount double`")
    return collect_errors(Schema.of, value)


def _field(name: str, kind: Any) -> Schema:
    try:
        return collect_errors(Schema.of, {name: kind})
    except PydanticCustomError as error:
        raise_at((name,), error)


SchemaValue = Annotated[
    Schema,
    PlainValidator(_schema),
    PlainSerializer(lambda schema: schema.ddl),
    WithJsonSchema({"anyOf": [TEXT_SCHEMA, NAMED_SCHEMA]}),
]
"""Columns as DDL text, or as a mapping from name to type."""


def validate_options(model: type[BaseModel], options: Any, *, name: str) -> Any:
    """Validate the options of a connector or format, and raise all errors together.

    Raises:
        ValidationError: an option is unknown, missing or invalid; paths start with the name.
    """
    if options is not None and not isinstance(options, Mapping):
        raise_at((name,), expect(f"the options of `{name}`", f"write {name}: {{...}}"))
    instance = model.__new__(model)
    try:
        # `Options.__init__` reports only the first error.
        BaseModel.__init__(instance, **(options or {}))
    except ValidationError as error:
        problems = option_problems(model, error, where=name)
        kinds = [_KINDS.get(item["type"], INVALID) for item in error.errors()]
        raise validation_error(
            problem_at((name, *path), invalid(problem.what, problem.hint, where=problem.where, kind=kind))
            for (path, problem), kind in zip(problems, kinds, strict=True)
        ) from None
    return instance


def _format(value: Any) -> Format:
    if isinstance(value, Format):
        return value
    choice = {value: None} if isinstance(value, str) and value.strip() else value
    hint = 'such as json or {csv: {delimiter: ";"}}'
    if not isinstance(choice, Mapping) or not choice:
        raise expect("a format", hint)
    if len(choice) > 1:
        raise invalid(f"expected a format, got the keys {', '.join(choice)}", hint)
    [(name, options)] = choice.items()
    if name not in formats.names():
        raise invalid(f"unknown format `{name}`", did_you_mean(name, formats.names()))
    return validate_options(formats.get(name), options, name=name)  # type: ignore[no-any-return]


def _format_schema() -> JsonSchemaValue:
    """Return the JSON Schema of formats; the definitions are those of their option models."""
    refs = {name: {"$ref": f"#/$defs/{formats.get(name).__name__}"} for name in formats.names()}
    properties = {name: {"anyOf": [ref, {"type": "null"}]} for name, ref in refs.items()}
    options = {
        "properties": properties,
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
    return {"anyOf": [{"enum": list(refs)}, {"type": "object", **options}]}


def _format_document(chosen: Format) -> Any:
    options = options_document(chosen, chosen.name)
    return {chosen.name: options} if options else chosen.name


FormatValue = Annotated[
    Format, PlainValidator(_format), PlainSerializer(_format_document), WithJsonSchema(_format_schema())
]
"""A format by its name, or by name with options: `{csv: {delimiter: ";"}}`."""


def connector_of(value: Any) -> Connector:
    """Return the connector of a value such as `{files: {path: homes.csv}}`."""
    if isinstance(value, Connector):
        return value
    [(kind, options)] = value.items()
    return validate_options(registry.connector(kind), options, name=kind)  # type: ignore[no-any-return]


def connector_document(connector: Connector) -> dict[str, Any]:
    """Return the plain value of a connector in a document."""
    return {connector.kind: options_document(connector, connector.kind)}


def options_document(model: BaseModel, name: str) -> dict[str, Any]:
    """Return options as plain values.

    Raises:
        OptionError: YAML cannot represent a value, such as a `datetime` in the rows of `memory`.
    """
    options: dict[str, Any] = _plain(model.model_dump(by_alias=True, exclude_defaults=True))
    if type(model)(**options) != model:
        raise OptionError(
            f"the options of `{name}` contain values that YAML cannot represent",
            hint="use text, numbers, true and false, lists and mappings",
        )
    return options


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


class ConnectorKeys(Grammar):
    """A mapping whose first connector is the value of a field: `{files: {path: homes.csv}, on: card}`."""

    role: ClassVar[Role]
    siblings: ClassVar[tuple[str, ...]] = ()
    """Keys of the same mapping that other models read."""
    connector_field: ClassVar[str] = "connector"

    @classmethod
    def prepare(cls, value: Any) -> dict[str, Any]:
        """Move the first connector and its options to its field."""
        data = super().prepare(value)
        kind = next((key for key in data if key in registry.kinds()), None)
        if kind is None:
            return data
        rest = {key: item for key, item in data.items() if key != kind}
        return {cls.connector_field: {kind: data[kind]}, **rest}

    def check_values(self) -> None:
        """Reject options that do not apply to the role."""
        super().check_values()
        connector = getattr(self, self.connector_field)
        problems = misplaced_options(connector, self.role) if isinstance(connector, Connector) else {}
        errors = [
            problem_at(
                (connector.kind, option),
                invalid(problem.what, problem.hint, where=problem.where, kind=UNKNOWN_KEY),
            )
            for option, problem in problems.items()
        ]
        if errors:
            raise validation_error(errors)

    @classmethod
    def translate(cls, error: Any, data: Mapping[str, Any]) -> InitErrorDetails | None:
        """Translate the errors about the connector; the base translates others."""
        key, kinds = str(error["loc"][0]) if error["loc"] else "", registry.kinds()
        words = [*(word for word in cls.field_names() if word != cls.connector_field), *cls.siblings]
        usable = [kind for kind in kinds if cls.role in registry.connector(kind).roles]
        if error["type"] == "missing" and key == cls.connector_field:
            hint = f"one of {', '.join(usable)}: {{...}}"
            problem = invalid(f"{cls.label} has no connector", hint, kind=MISSING_KEY)
            return None if set(data) - set(words) else problem_at(error["loc"], problem)
        if error["type"] not in EXTRA or len(error["loc"]) > 1:
            return super().translate(error, data)
        known = (*words, *usable)
        if key in kinds:
            first = next(iter(data[cls.connector_field]))
            what, hint = f"expected one connector, got `{first}` and `{key}`", "remove one"
        elif cls.connector_field in data or nearest(key, known) in words:
            what, hint = f"unknown key `{key}` in {cls.label}", did_you_mean(key, known)
        else:
            what, hint = f"unknown connector `{key}`", did_you_mean(key, usable)
        return problem_at(error["loc"], invalid(what, hint, kind=UNKNOWN_KEY))

    def shorten(self, data: dict[str, Any]) -> Any:
        """Put the connector beside the other keys, after `from`."""
        reference = {"from": data.pop("from")} if "from" in data else {}
        return {**reference, **data.pop(self.connector_field), **data}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = super().__get_pydantic_json_schema__(core, handler)
        del schema["properties"][cls.connector_field]
        schema["required"].remove(cls.connector_field)
        schema["x-connectors"] = cls.role
        return schema


class ConnectorModel(ConnectorKeys, DocumentModel):
    """A mapping with the keys of the model and one connector."""

    siblings: ClassVar[tuple[str, ...]] = ()
    connector: Annotated[Connector, PlainValidator(connector_of), PlainSerializer(connector_document)]


def _rules_table(value: Any) -> Connector | str:
    if isinstance(value, Connector):
        return value
    if isinstance(value, Mapping):
        return _RulesConnector.model_validate(value).connector
    if not isinstance(value, str) or not value.strip():
        raise expect("a file of rules, or a table such as {postgres: {...}}")
    return check_path(value)


class _RulesConnector(ConnectorModel):
    label = "rules"
    role: ClassVar[Role] = "table"


RulesTable = Annotated[
    Connector | str,
    PlainValidator(_rules_table),
    PlainSerializer(lambda table: connector_document(table) if isinstance(table, Connector) else table),
    WithJsonSchema({"anyOf": [TEXT_SCHEMA, {"type": "object", "properties": {}, "x-connectors": "rules"}]}),
]
"""A file of rules, or a table of a connector."""
