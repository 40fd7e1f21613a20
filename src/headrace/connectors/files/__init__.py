"""Files in a directory: JSON lines, CSV, text and Parquet, on a local disk or any store Hadoop can reach.

*Source*: replayable; a file is read once, completely, when it first appears, and the position is its name and
line. Producers must move complete files into the directory: lines appended to a file later are not read.

*Sink*: exactly once. Readers that list the directory see only files of committed epochs, each row once. Names
that start with `_` are internal, and every Spark and Hadoop reader skips them. The guarantee covers crashes
of the process; for crashes of the machine it depends on the durability of the file system.
"""

from __future__ import annotations

from glob import glob, has_magic
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from headrace import formats
from headrace.connectors.base import Carries, Connector, Guarantee, Reader, Role, WriteMode, Writer
from headrace.connectors.options import FormatOption, NamesOption, PathOption, SchemaOption
from headrace.connectors.roles import ReadOption, SinkOption, SourceOption
from headrace.errors import OptionError
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

    `format` and `schema` are set here or on the source; the default format is that of the suffix in a path
    like `*.csv` or `homes.jsonl`. In mode `complete` the directory holds one file, which each epoch replaces
    atomically; in mode `update` changed rows are appended, and the newest row of a key is the valid one.

    >>> Files(path="homes.csv").format.name
    'csv'
    >>> Files(path="in/", format="json", schema="card string").schema_known.ddl
    'card string'
    """

    kind: ClassVar[str] = "files"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink", "table"})
    delivers: ClassVar[Guarantee] = "exactly_once"
    replayable: ClassVar[bool] = True
    create_hint: ClassVar[str] = (
        "create the directory, or write a glob such as `in/*.json` for files that arrive later"
    )

    path: PathOption = Field(
        description="A directory; a source also reads a file or a glob such as `in/2026-*/*.json.gz`"
    )
    format: FormatOption = Field(
        default=None,
        description="The format of the files: json (one object per line), csv, text or parquet",
    )
    columns: ReadOption[SchemaOption] = Field(
        default=None, alias="schema", description="The columns, as DDL text, a dataclass or a pydantic model"
    )
    max_files_per_batch: SourceOption[int | None] = Field(
        default=None, ge=1, description="The maximum number of files per epoch; default: no limit"
    )
    partition_by: SinkOption[NamesOption] = Field(
        default=(), description="Columns whose values become directories (`country=FI/`)"
    )

    @field_validator("format")
    @classmethod
    def _check_format(cls, chosen: Format | None) -> Format | None:
        if chosen is not None and chosen.name == "raw":
            raise ValueError("files consist of lines: use `text`, whose column can be cast to binary")
        if chosen is not None and chosen.is_binary:
            raise ValueError(_messages_only(chosen))
        return chosen

    def model_post_init(self, _: Any) -> None:
        if self.format is None and (suffix := _suffix(str(self.path))) in _BY_SUFFIX:
            # Not assigned: the model is frozen, and the step may set another format than an implied one.
            self.__dict__["format"] = formats.of(_BY_SUFFIX[suffix])

    @property
    def encoding(self) -> Format | None:
        """The format that is set, or that the suffix of the path implies."""
        return self.format if isinstance(self.format, Format) else None

    @property
    def carries(self) -> Carries:
        return "rows" if self.encoding is not None and self.encoding.of_rows else "bytes"

    @property
    def schema_known(self) -> Schema | None:
        return self.columns if isinstance(self.columns, Schema) else None

    def with_format(self, chosen: Format | None) -> Connector:
        if chosen is not None and chosen.is_binary and chosen.name != "raw":
            raise OptionError(_messages_only(chosen), where="files: format")
        # Only Parquet changes what the frame carries; the decoder handles other formats.
        if chosen is None or not chosen.of_rows or self.encoding == chosen:
            return self
        return self.model_copy(update={"format": chosen})

    @property
    def jars(self) -> tuple[str, ...]:
        return ("s3",) if str(self.path).startswith("s3a://") else ()

    def target(self) -> str | None:
        path = str(self.path)
        return f"the directory {path if '://' in path else Path(path).absolute()}"

    def input_problem(self) -> tuple[str, str] | None:
        path = str(self.path)
        if has_magic(path) or "://" in path or Path(path).exists():
            return None
        return f"no such file or directory: {path}", self.create_hint

    def mode_problem(self, mode: WriteMode) -> str:
        if has_magic(str(self.path)):
            return f"a sink writes into one directory, not into the glob `{self.path}`"
        if mode == "complete" and self.partition_by:
            return "`complete` replaces one file, so it cannot be split by `partition_by`"
        return ""

    def content_version(self) -> str | None:
        from headrace.connectors.files.store import local_path, spark_path

        local = local_path(spark_path(str(self.path)))
        if local is None:
            return None
        matches = glob(str(local), recursive=True) if has_magic(str(local)) else [local]  # noqa: PTH207 - a text
        paths = map(Path, matches)
        files = (file for path in paths for file in (path.rglob("*") if path.is_dir() else (path,)))
        stats = sorted((str(file), file.stat()) for file in files)
        return repr([(name, stat.st_mtime_ns, stat.st_size) for name, stat in stats])

    def reader(self) -> Reader:
        from headrace.connectors.files.source import FilesReader

        return FilesReader(self)

    def writer(self) -> Writer:
        from headrace.connectors.files.sink import FilesWriter

        return FilesWriter(self)


def _messages_only(chosen: Format) -> str:
    return f"{chosen.name} is a format of messages: use json, csv, text or parquet"


def _suffix(path: str) -> str:
    bare = path.rstrip("/").removesuffix(".gz").removesuffix(".zst").removesuffix(".bz2")
    return Path(bare).suffix.lower()
