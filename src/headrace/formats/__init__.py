"""Formats, which decode and encode records, and the schemas of their rows.

>>> from headrace import formats
>>> formats.of("text").default_schema.ddl
'value string'
"""

from headrace.formats.base import Format
from headrace.formats.csv import Csv
from headrace.formats.json import Json
from headrace.formats.parquet import Parquet
from headrace.formats.protobuf import Protobuf
from headrace.formats.registry import get, names, of
from headrace.formats.text import Raw, Text
from headrace.schemas.datatypes import Field
from headrace.schemas.fields import Schema

__all__ = [
    "Csv",
    "Field",
    "Format",
    "Json",
    "Parquet",
    "Protobuf",
    "Raw",
    "Schema",
    "Text",
    "get",
    "names",
    "of",
]
