"""Files in a directory: JSON lines, CSV, text and Parquet, on a local disk or any store Hadoop can reach.

*Source*: replayable; a file is read once, whole, when it first appears, and its name and lines are the position.
Whoever puts files there must move them in when they are complete: a file that grows after it was seen loses the rest.

*Sink*: exactly once. Readers that list the directory see only files of committed epochs, each row once; names that
start with `_` are ours, and every Spark and Hadoop reader skips them. What is promised on a crash of the process holds
on a crash of the machine as far as the file system keeps what was written.
"""

from __future__ import annotations

from glob import has_magic
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from headrace import formats
from headrace.connectors.base import Carries, Connector, Guarantee, Reader, Role, WriteMode, Writer
from headrace.connectors.options import FormatOption, NamesOption, PathOption, SchemaOption
from headrace.connectors.roles import ReadOption, SinkOption, SourceOption
from headrace.formats import Format, Schema

_BY_SUFFIX = {
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
    ".txt": "text",
    ".log": "text",
    ".parquet": "parquet",
}


class Files(Connector):
    """A directory, a file or a glob to read; a directory to write.

    `format` and `schema` may be given here or where the source is declared; without a format a path like `*.csv` or
    `homes.jsonl` tells it. In mode `complete` the directory holds one file, replaced as a whole with each epoch; in
    mode `update` changed rows are appended, and the newest of a key is the valid one.

    >>> Files(path="homes.csv").format.name
    'csv'
    >>> Files(path="in/", format="json", schema="card string").schema_known.ddl
    'card string'
    """

    kind: ClassVar[str] = "files"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink", "table"})
    delivers: ClassVar[Guarantee] = "exactly_once"

    path: PathOption = Field(
        description="A directory; to read from also a file or a glob such as `in/2026-*/*.json.gz`"
    )
    format: FormatOption = Field(
        default=None,
        description="How the files are written: json (a JSON object a line), csv, text or parquet",
    )
    columns: ReadOption[SchemaOption] = Field(
        default=None, alias="schema", description="The columns, as DDL text, a dataclass or a pydantic model"
    )
    max_files_per_batch: SourceOption[int | None] = Field(
        default=None, ge=1, description="The most files that one epoch reads; without it all that are there"
    )
    partition_by: SinkOption[NamesOption] = Field(
        default=(), description="Columns whose values become directories (`country=FI/`); sinks only"
    )

    @field_validator("format")
    @classmethod
    def _of_lines(cls, chosen: Format | None) -> Format | None:
        if chosen is not None and chosen.name == "raw":
            raise ValueError("files are made of lines: take `text`, whose column can be cast to binary")
        return chosen

    def model_post_init(self, _: Any) -> None:
        if self.format is None and (suffix := _suffix(str(self.path))) in _BY_SUFFIX:
            self.__dict__["format"] = formats.of(_BY_SUFFIX[suffix])

    @property
    def encoding(self) -> Format | None:
        """The format, if one is said or the path tells it."""
        return self.format if isinstance(self.format, Format) else None

    @property
    def replayable(self) -> bool:
        return True

    @property
    def carries(self) -> Carries:
        return "rows" if self.encoding is not None and self.encoding.of_rows else "bytes"

    @property
    def schema_known(self) -> Schema | None:
        return self.columns if isinstance(self.columns, Schema) else None

    def with_format(self, chosen: Format | None) -> Connector:
        # Parquet decides what the frame carries; any other format is the decoder's to know.
        if chosen is None or not chosen.of_rows or self.encoding == chosen:
            return self
        return self.model_copy(update={"format": chosen})

    def target(self) -> str | None:
        path = str(self.path)
        return f"the directory {path if '://' in path else Path(path).absolute()}"

    def mode_problem(self, mode: WriteMode) -> str:
        if has_magic(str(self.path)):
            return f"a sink writes into one directory, not into the glob `{self.path}`"
        if mode == "complete" and self.partition_by:
            return "`complete` replaces one file, so it can't be split by `partition_by`"
        return ""

    def reader(self) -> Reader:
        from headrace.connectors.files.source import FilesReader

        return FilesReader(self)

    def writer(self) -> Writer:
        from headrace.connectors.files.sink import FilesWriter

        return FilesWriter(self)


def _suffix(path: str) -> str:
    bare = path.rstrip("/").removesuffix(".gz").removesuffix(".zst").removesuffix(".bz2")
    return Path(bare).suffix.lower()
