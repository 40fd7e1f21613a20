"""What every format is: one option model, the schemas it can read, and how the kernel is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from headrace.errors import OptionError, SchemaError
from headrace.formats.options import option_problems
from headrace.schemas.datatypes import DataType
from headrace.schemas.fields import Schema, walk


class Format(BaseModel):
    """The options of one format; unknown or wrong ones raise `OptionError` with the nearest known word."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    name: ClassVar[str]
    """The word for it in `format=` and in documents."""
    of_rows: ClassVar[bool] = False
    """Whether its files hold typed rows already, so that nothing is left to decode (Parquet)."""
    default_schema: ClassVar[Schema | None] = None
    """What the rows look like when the user gives no schema."""

    if not TYPE_CHECKING:

        def __init__(self, **options: Any) -> None:
            try:
                super().__init__(**options)
            except ValidationError as error:
                problem = option_problems(type(self), error, where=self.name)[0][1]
                raise OptionError(problem.what, where=problem.where, hint=problem.hint) from None

    def refusal(self, kind: DataType) -> str:
        """Why this format can't hold a value of that type; empty when it can."""
        return ""

    def checked(self, schema: Schema | None, *, where: str = "") -> Schema:
        """The schema to decode into: the given one if the format can hold it, or else the format's own.

        Raises:
            SchemaError: there is none, or a column's type can't be written in this format.
        """
        schema = schema or self.default_schema
        if schema is None:
            hint = 'write schema="card string, amount double"'
            raise SchemaError(f"the format `{self.name}` needs a schema", where=where, hint=hint)
        for field in schema.fields:
            for path, kind in walk(field.type, field.name):
                if refusal := self.refusal(kind):
                    place = f"{where}: column `{path}`" if where else f"column `{path}`"
                    raise SchemaError(f"{self.name} can't hold {kind}", where=place, hint=refusal)
        return schema
