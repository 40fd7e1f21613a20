"""The roles that an option applies to: some options are for sources only, others for sinks only.

A connector marks them by type, `start: SourceOption[str]`. An option that is set on a connector in another
role is an error. Reference pages list the options of each role separately.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from headrace.connectors.base import Connector, Role
from headrace.errors import OptionError, Problem


@dataclass(frozen=True)
class AppliesTo:
    """The roles of an option; options without this mark apply to all roles of their connector."""

    roles: frozenset[Role]


T = TypeVar("T")
SourceOption = Annotated[T, AppliesTo(frozenset({"source"}))]
SinkOption = Annotated[T, AppliesTo(frozenset({"sink"}))]
ReadOption = Annotated[T, AppliesTo(frozenset({"source", "table"}))]
"""An option of sources and lookup tables."""

PLURALS: dict[Role, str] = {"source": "sources", "sink": "sinks", "table": "lookup tables"}


def option_roles(model: type[Connector]) -> dict[str, frozenset[Role]]:
    """Return the roles that each option applies to, by the name that users write.

    >>> from headrace.connectors.kafka import Kafka
    >>> sorted(option_roles(Kafka)["topic"]), sorted(option_roles(Kafka)["start"])
    (['sink', 'source'], ['source'])
    """
    return {
        field.alias or name: next(
            (mark.roles for mark in field.metadata if isinstance(mark, AppliesTo)), model.roles
        )
        for name, field in model.model_fields.items()
    }


def misplaced_options(connector: Connector, role: Role) -> dict[str, Problem]:
    """Return a problem for each option that is set although it does not apply to the role."""
    applies = option_roles(type(connector))
    return {
        option: _misplaced_problem(connector.kind, option, applies[option], role)
        for option in _explicit_options(connector)
        if role not in applies[option]
    }


def check_role(connector: Connector, role: Role, where: str) -> None:
    """Check that every option that is set applies to the role.

    Raises:
        OptionError: an option does not, such as `start`, an option of sources, on a sink.
    """
    for problem in misplaced_options(connector, role).values():
        raise OptionError(problem.what, where=f"{where}: {problem.where}", hint=problem.hint)


def check_override(
    connector: Connector, option: Literal["format", "schema"], value: object, where: str
) -> None:
    """Check that an option is not set to different values on the connector and on the step that uses it.

    Raises:
        OptionError: it is.
    """
    own = _explicit_options(connector).get(option)
    if own is not None and value is not None and own != value:
        what = f"`{option}` is set twice, with different values"
        raise OptionError(what, where=where, hint=f"remove it from {connector.kind} or from the step")


def _explicit_options(connector: Connector) -> dict[str, Any]:
    """Return the options that the user set, by the name that users write."""
    return {
        field.alias or name: getattr(connector, name)
        for name, field in type(connector).model_fields.items()
        if name in connector.model_fields_set
    }


def _misplaced_problem(kind: str, option: str, roles: frozenset[Role], role: Role) -> Problem:
    users = " and ".join(plural for other, plural in PLURALS.items() if other in roles)
    what = f"`{option}` is an option of {users}, not of {PLURALS[role]}"
    return Problem(f"{kind}: {option}", what, f"remove it; it applies where {kind} is used by {users}")
