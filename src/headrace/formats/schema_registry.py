"""Options of formats whose schemas are in a schema registry with Confluent's interface."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from headrace.access.options import Address
from headrace.formats.base import Format
from headrace.formats.option_types import DurationOption, RetryTimeoutOption, seconds_of
from headrace.schemas.datatypes import DataType


class SchemaRegistry(BaseModel):
    """The address of a schema registry, and the login to it.

    >>> SchemaRegistry(url="http://localhost:8081/").url
    'http://localhost:8081'
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    url: Annotated[str, Address()] = Field(
        description="The address: http:// or https://, a host, a port and a path"
    )
    user: str | None = Field(default=None, description="The user name")
    password: SecretStr | None = Field(
        default=None, description="The password, such as `${REGISTRY_PASSWORD}`"
    )
    timeout: DurationOption = Field(default="30 seconds", description="How long to wait for an answer")
    retry_timeout: RetryTimeoutOption = Field(default="5 minutes")

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("expected an address such as http://localhost:8081")
        if parts.username or parts.password:
            raise ValueError("expected an address without a login: set `user` and `password`")
        return url.rstrip("/")

    def kernel_options(self) -> dict[str, Any]:
        """Return the options for the kernel's client; they hold the password."""
        return {
            "url": self.url,
            "user": self.user,
            "password": self.password.get_secret_value() if self.password is not None else None,
            "timeout": seconds_of(self.timeout),
            "retry_timeout": seconds_of(self.retry_timeout),
        }


def _from_url(value: Any) -> Any:
    return {"url": value} if isinstance(value, str) else value


RegistryOption = Annotated[
    SchemaRegistry | None,
    BeforeValidator(_from_url),
    WithJsonSchema(
        {"anyOf": [{"type": "string"}, SchemaRegistry.model_json_schema(), {"type": "null"}]},
    ),
]
"""Users write an address, or a mapping with a login; validated as a `SchemaRegistry`."""


class RegistryFormat(Format):
    """The base of formats whose records may start with the id of a schema in a registry."""

    registry_kind: ClassVar[str]
    """The type of the schemas in a registry: `AVRO`, `PROTOBUF` or `JSON`."""

    registry: RegistryOption = Field(
        default=None,
        description="The schema registry: an address, or a mapping with `url`, `user`, `password`, `timeout` "
        "and `retry_timeout`; records then start with a zero byte and the id of their schema",
    )
    subject: str | None = Field(
        default=None,
        min_length=1,
        description="The subject of a sink's schema; default for Kafka: `<topic>-value`",
    )
    registration: bool = Field(
        default=True,
        alias="register",
        description="Whether a sink registers its schema; if not, the schema must be registered, and without "
        "a schema the latest version of the subject is used",
    )

    @model_validator(mode="after")
    def _check_registry(self) -> Self:
        if self.registry is None:
            for name, option in {"subject": "subject", "registration": "register"}.items():
                if name in self.model_fields_set:
                    raise ValueError(f"`{option}` applies only with `registry`")
        return self

    @property
    def has_writer_schema(self) -> bool:
        """True if the schema that a sink writes is set; else it is derived from the columns."""
        return False

    def writer_schema(self, columns: Mapping[str, DataType]) -> str:
        """Return the schema that a sink writes: the one that is set, or that of the columns.

        Raises:
            SchemaError: the columns do not fit the schema, or the format cannot hold a type.
        """
        raise NotImplementedError

    def encoder_options(self, columns: Mapping[str, DataType], text: str, schema_id: int | None) -> str:
        """Return the options of the kernel's encoder, as JSON; they hold no secrets.

        Args:
            columns: the columns of the records.
            text: the schema that the sink writes.
            schema_id: its id in the registry, if there is one.
        """
        return json.dumps({"schema": text, "id": schema_id})

    def check_writer_schema(self, text: str, columns: Mapping[str, DataType]) -> None:
        """Check that rows with these columns can be written in a schema of the registry.

        Raises:
            SchemaError: they cannot.
        """
        raise NotImplementedError

    def kernel_options(self) -> str:
        options = json.loads(super().kernel_options())
        return json.dumps(options | {"registry": self.registry and self.registry.kernel_options()})
