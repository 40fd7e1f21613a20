"""The base of all formats: an option model, and the column types that the format can hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from headrace.errors import OptionError, Problem, SchemaError
from headrace.formats.option_problems import first_problem
from headrace.schemas.datatypes import DataType
from headrace.schemas.fields import Schema, walk


class Format(BaseModel):
    """The options of one format; an invalid one raises `OptionError`, with the nearest known name."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    name: ClassVar[str]
    """The name of the format in `format=` and in documents."""
    of_rows: ClassVar[bool] = False
    """True if its files hold typed rows that need no decoding (Parquet)."""
    is_binary: ClassVar[bool] = False
    """True if records are bytes that cannot be divided into lines or written as text."""
    derives_schema: ClassVar[bool] = False
    """True if the columns follow from the options; a schema then selects some of them."""
    checks_columns: ClassVar[bool] = False
    """True if `encoding_problems` checks the columns of a sink, before the first epoch."""

    if not TYPE_CHECKING:

        def __init__(self, **options: Any) -> None:
            try:
                super().__init__(**options)
            except ValidationError as error:
                problem = first_problem(type(self), error, where=self.name)
                raise OptionError.of(problem) from None

    @property
    def default_schema(self) -> Schema | None:
        """The schema of a source without one; a class variable where the options do not change it."""
        return None

    def source_problem(self) -> tuple[str, str] | None:
        """Return the problem and hint if these options cannot decode records."""
        return None

    def kernel_options(self) -> str:
        """Return the options for the kernel's decoder and encoder, as JSON; never printed."""
        return self.model_dump_json(by_alias=True)

    def unsupported(self, kind: DataType) -> str:
        """Return a hint if this format cannot hold values of that type; else empty."""
        return ""

    def check_schema(self, schema: Schema | None, *, where: str = "") -> Schema:
        """Return the schema to decode into, by default that of the format.

        Raises:
            SchemaError: the schema is missing, or the format cannot hold the type of a column.
        """
        schema = schema or self.default_schema
        if schema is None:
            hint = 'set schema="card string, amount double"'
            raise SchemaError(f"the format `{self.name}` needs a schema", where=where, hint=hint)
        for field in schema.fields:
            for path, kind in walk(field.type, field.name):
                if hint := self.unsupported(kind):
                    location = f"{where}: column `{path}`" if where else f"column `{path}`"
                    raise SchemaError(f"{self.name} cannot hold {kind}", where=location, hint=hint)
        return schema

    def decoder_options(self, schema: Schema) -> str:
        """Return the options of the kernel's decoder for these columns, as JSON."""
        return self.kernel_options()

    def encoding_problems(self, columns: Mapping[str, DataType | None]) -> Iterator[Problem]:
        """Yield the reasons for which a sink cannot encode these columns; None is a type not known yet."""
        return iter(())
