"""Delta Lake tables, on a local disk or in an object store, through delta-rs.

*Sink*: exactly once. Tasks write the rows of an epoch as Parquet files into the table's directory, where no
version of the table refers to them. One commit adds these files and the ledger entry, so that readers see all
rows of an epoch or none. The ledger consists of application transactions of the table (`txn` actions).

*Source*: replayable; an offset is a version of the table and a number of its files. The rows of a version are
those of the files that it adds. Versions that only compact files add no rows; versions that change or delete
rows are errors, or are skipped.

*Table*: for lookups, the newest version, read again when the table has another version.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainValidator, SecretStr, WithJsonSchema

from headrace.access.options import ClientSettings
from headrace.connectors.base import Carries, Guarantee, Reader, Role, WriteMode, Writer
from headrace.connectors.delta.columns import find_problem
from headrace.connectors.delta.location import Location
from headrace.connectors.driver_source import DriverSource
from headrace.connectors.extras import require_package
from headrace.connectors.options import DurationOption, NamesOption, PathOption
from headrace.connectors.roles import SinkOption, SourceOption
from headrace.connectors.sql.table import mode_problem
from headrace.schemas.fields import Schema

_SETTING_NAMES = """
    access_key_id account_key account_name allow_http allow_http1 aws_access_key_id aws_allow_http
    aws_conditional_put aws_default_region aws_endpoint aws_endpoint_url aws_region aws_s3_addressing_style
    aws_s3_allow_unsafe_rename aws_s3_locking_provider aws_secret_access_key aws_session_token
    aws_skip_signature aws_virtual_hosted_style_request azure_client_id azure_client_secret
    azure_storage_account_key azure_storage_account_name azure_storage_client_id azure_storage_client_secret
    azure_storage_sas_key azure_storage_sas_token azure_storage_tenant_id azure_tenant_id bucket client_id
    client_secret conditional_put connect_timeout container_name default_region delta_dynamo_table_name
    endpoint endpoint_url google_service_account_key region sas_key sas_token secret_access_key
    service_account_key session_token skip_signature tenant_id timeout virtual_hosted_style_request
"""
_SETTINGS = frozenset(_SETTING_NAMES.split())
"""Settings of object stores that name no file."""


def _parse_start(start: Any) -> Any:
    if start in ("earliest", "latest"):
        return start
    if isinstance(start, Mapping) and len(start) == 1:
        version, time = start.get("version"), start.get("time")
        if isinstance(version, int) and not isinstance(version, bool) and version >= 0:
            return {"version": version}
        if time is not None:
            return {"time": _parse_time(time)}
    raise ValueError("expected earliest, latest, {version: 12} or {time: 2026-11-01T00:00:00Z}")


def _parse_time(value: Any) -> str:
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError("expected a time such as 2026-11-01T00:00:00Z") from None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


StartOption = Annotated[
    str | Mapping[str, Any],
    PlainValidator(_parse_start),
    WithJsonSchema({"anyOf": [{"enum": ["earliest", "latest"]}, {"type": "object"}]}),
]
"""Validated as `earliest`, `latest`, `{"version": number}` or `{"time": ISO text}`."""


class DeltaLake(DriverSource):
    """A Delta Lake table; a sink creates it, or adds columns that an existing table lacks.

    Without a `key`, every row is appended, including retractions (marked by `pane.retraction`); mode
    `complete` replaces all rows in one version. With a `key` there is one row per key: a newer row overwrites
    it, a retraction deletes it; `window` in the key stands for the window's start and end. delta-rs merges
    these rows on the driver, and rewrites the files that hold their keys. Needs the extra `delta`, also on
    the executors.

    >>> DeltaLake(path="lake/totals", partition_by="country").partition_by
    ('country',)
    >>> DeltaLake(path="s3://lake/orders", start={"version": 12}).start
    {'version': 12}
    """

    kind: ClassVar[str] = "delta"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink", "table"})
    delivers: ClassVar[Guarantee] = "exactly_once"
    carries: ClassVar[Carries] = "rows"
    replayable: ClassVar[bool] = True
    replay_assumption: ClassVar[str] = (
        "VACUUM and the clean-up of the log keep the files and versions of an epoch until it is committed"
    )

    path: PathOption = Field(
        description="The table's directory, or its address in an object store: `s3://lake/totals`"
    )
    storage: Annotated[Mapping[str, SecretStr], ClientSettings(_SETTINGS)] = Field(
        default={},
        description="Settings of the object store, such as `AWS_ENDPOINT_URL`; default: those of the "
        "environment",
    )
    partition_by: SinkOption[NamesOption] = Field(
        default=(),
        description="The columns that partition a new table: text, whole numbers, dates or booleans",
    )
    key: SinkOption[NamesOption] = Field(
        default=(), description="The columns that identify a row; `window` stands for its start and end"
    )
    start: SourceOption[StartOption] = Field(
        default="earliest",
        description="Where a new checkpoint begins: with the rows of the newest version (`earliest`), of a "
        "`{version: 12}` or of a `{time: 2026-11-01T00:00:00Z}`, or only with later ones (`latest`)",
    )
    on_change: SourceOption[Literal["error", "skip"]] = Field(
        default="error",
        description="How versions are handled that change or delete rows: `error` ends the run, `skip` "
        "ignores such a version",
    )
    every: SourceOption[DurationOption] = Field(
        default="1 second", description="How often the table is polled for new versions"
    )
    max_files_per_batch: SourceOption[int] = Field(
        default=1000, ge=1, description="The maximum number of files per epoch"
    )
    retry_timeout: SinkOption[DurationOption] = Field(
        default="1 minute",
        description="How long a commit is retried that conflicts with the commits of other writers",
    )

    @property
    def location(self) -> Location:
        """The table's location, with the settings of its store."""
        path = str(self.path).rstrip("/")
        uri = path if "://" in path else str(Path(path).absolute())
        settings = {name: secret.get_secret_value() for name, secret in self.storage.items()}
        return Location(uri, settings)

    @property
    def offset_identity(self) -> tuple[str, ...]:
        return (self.kind, f"table {self.location.address}")

    def target(self) -> str | None:
        return f"the Delta table {self.location.address}"

    def mode_problem(self, mode: WriteMode) -> str:
        return mode_problem(mode, self.key)

    def schema_problem(self, schema: Schema) -> tuple[str, str] | None:
        return find_problem(schema, self.partition_by)

    def content_version(self) -> str | None:
        return str(self.location.load_table().version())

    def reader(self) -> Reader:
        require_package("deltalake", extra="delta")
        from headrace.connectors.delta.source import DeltaReader

        return DeltaReader(self)

    def writer(self) -> Writer:
        require_package("deltalake", extra="delta")
        from headrace.connectors.delta.sink import DeltaWriter

        return DeltaWriter(self)
