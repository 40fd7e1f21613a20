"""Marks of options that reach a file, a host or a class; a validator of each decides on the value.

A connector declares each option that does with one of these marks, also a connector of a user. A test lists
the options with text that have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, SecretStr
from pydantic_core import CoreSchema, core_schema

from headrace.access.addresses import check_address, check_hosts, check_names, check_servers
from headrace.access.paths import check_path
from headrace.access.sql import check_sql


class _Mark:
    """The base of marks that check a value after its type has been validated."""

    def check(self, value: Any) -> None:
        """Reject a value that is not accepted."""
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_checked(self.check), handler(source))


def _checked(check: Callable[[Any], None]) -> Callable[[Any], Any]:
    def validate(value: Any) -> Any:
        if value is not None:
            check(value)
        return value

    return validate


@dataclass(frozen=True)
class FilePath(_Mark):
    """A path of a file or directory, or of an object store."""

    def check(self, value: Any) -> None:
        check_path(str(value))


@dataclass(frozen=True)
class Address(_Mark):
    """The URL of a server, and the parameters that its client may read from it."""

    parameters: frozenset[str] | None = None
    """None if the client sends all parameters to the server."""
    default_host: str = ""

    def check(self, value: Any) -> None:
        check_address(str(value), self.parameters, self.default_host)


@dataclass(frozen=True)
class Servers(_Mark):
    """Addresses `host:port`, several with commas."""

    def check(self, value: Any) -> None:
        check_servers(str(value))


@dataclass(frozen=True)
class Host(_Mark):
    """The name or address of a host."""

    def check(self, value: Any) -> None:
        check_hosts([str(value)])


@dataclass(frozen=True)
class ClientSettings(_Mark):
    """Settings that are passed on to a client library; only those that are listed are accepted."""

    accepted: frozenset[str]

    def check(self, value: Mapping[str, Any]) -> None:
        check_names(value, self.accepted, "setting")
        for name, setting in value.items():
            if "endpoint" in name.lower():
                text = setting.get_secret_value() if isinstance(setting, SecretStr) else str(setting)
                check_address(text, None)


@dataclass(frozen=True)
class SqlExpression(_Mark):
    """An expression of Spark SQL."""

    def check(self, value: Any) -> None:
        check_sql(str(value))
