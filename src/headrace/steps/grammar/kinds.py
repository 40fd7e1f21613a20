"""A mapping whose key for one of several kinds is the value of a field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails

from headrace.errors import did_you_mean, nearest
from headrace.steps.grammar.declaration import Choice, Declaration, declare
from headrace.steps.grammar.model import EXTRA
from headrace.steps.grammar.problems import MISSING_KEY, UNKNOWN_KEY, details_of, invalid, problem_at


@declare
class KindKeys(Declaration):
    """A mapping with one kind of a choice beside its other keys: `{quantile: {q: 0.999}, warm_up: 100}`."""

    kind_field: ClassVar[str] = ""
    """The field with the choice."""
    choice: ClassVar[type[Choice]] = Choice

    @classmethod
    def kind_names(cls) -> list[str]:
        """Return the keys of the kinds."""
        return [kind.kind for kind in cls.choice.__subclasses__()]

    @classmethod
    def prepare(cls, value: Any) -> dict[str, Any]:
        """Move the first kind and its options to its field."""
        data = super().prepare(value)
        kind = next((key for key in data if key in cls.kind_names()), None)
        if kind is None:
            return data
        rest = {key: item for key, item in data.items() if key != kind}
        return {cls.kind_field: {kind: data[kind]}, **rest}

    @classmethod
    def translate(cls, error: Any, data: Mapping[str, Any]) -> InitErrorDetails | None:
        """Translate the errors about the kind; the base translates others."""
        key = str(error["loc"][0]) if error["loc"] else ""
        words = [word for word in cls.field_names() if word != cls.kind_field]
        if error["type"] == "missing" and key == cls.kind_field:
            hint = f"one of {', '.join(cls.kind_names())}"
            what = f"{cls.label} has no {cls.choice.label}"
            unknown = set(data) - set(words)
            return None if unknown else problem_at(error["loc"], invalid(what, hint, kind=MISSING_KEY))
        if key == cls.kind_field:
            return details_of({**error, "loc": error["loc"][1:]})
        if error["type"] not in EXTRA or len(error["loc"]) > 1:
            return super().translate(error, data)
        known = (*words, *cls.kind_names())
        if key in cls.kind_names():
            first = next(iter(data[cls.kind_field]))
            what, hint = f"expected one {cls.choice.label}, got `{first}` and `{key}`", "remove one"
        elif cls.kind_field in data or nearest(key, known) in words:
            what, hint = f"unknown key `{key}` in {cls.label}", did_you_mean(key, known)
        else:
            what, hint = f"unknown {cls.choice.label} `{key}`", did_you_mean(key, cls.kind_names())
        return problem_at(error["loc"], invalid(what, hint, kind=UNKNOWN_KEY))

    def shorten(self, data: dict[str, Any]) -> Any:
        """Put the kind beside the other keys."""
        return {**data.pop(self.kind_field), **data}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = super().__get_pydantic_json_schema__(core, handler)
        kinds = handler.resolve_ref_schema(schema["properties"].pop(cls.kind_field))
        schema["properties"] = {**kinds["properties"], **schema["properties"]}
        schema["required"].remove(cls.kind_field)
        if not schema["required"]:
            del schema["required"]
        return schema
