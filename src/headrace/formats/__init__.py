"""Formats, which decode and encode records, and the schemas of their rows.

>>> from headrace import formats
>>> formats.of("text").default_schema.ddl
'value string'
"""

from headrace.formats.avro import Avro
from headrace.formats.base import Format
from headrace.formats.csv import Csv
from headrace.formats.json import Json
from headrace.formats.parquet import Parquet
from headrace.formats.protobuf import Protobuf
from headrace.formats.registry import get, names, of
from headrace.formats.schema_registry import SchemaRegistry
from headrace.formats.text import Raw, Text
from headrace.schemas.datatypes import Field
from headrace.schemas.fields import Schema

__all__ = [
    "Avro",
    "Csv",
    "Field",
    "Format",
    "Json",
    "Parquet",
    "Protobuf",
    "Raw",
    "Schema",
    "SchemaRegistry",
    "Text",
    "get",
    "names",
    "of",
]
