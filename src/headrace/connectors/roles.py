"""The roles that an option applies to: some options are for sources only, others for sinks only.

A connector marks them by type, `start: SourceOption[str]`. An option that is set on a connector in another
role is an error. Reference pages list the options of each role separately.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_origin

from headrace.errors import OptionError, Problem, did_you_mean

if TYPE_CHECKING:
    from headrace.connectors.base import Connector, ConnectorType, Role


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


def constructor(connector: type[ConnectorType], role: Role) -> Callable[..., ConnectorType]:
    """Return the constructor of a connector in one role, whose signature has the options of that role.

    >>> import inspect
    >>> from headrace.connectors.kafka import Kafka
    >>> "start" in inspect.signature(Kafka.source).parameters
    True
    >>> "start" in inspect.signature(Kafka.sink).parameters
    False
    """
    fields = connector.model_fields.items()
    applies = option_roles(connector)  # in Python, an option with an alias has its name too
    applies |= {name: applies[field.alias] for name, field in fields if field.alias}
    parameters = inspect.signature(connector).parameters.values()
    own = [_readable(each) for each in parameters if role in applies.get(each.name, connector.roles)]

    def construct(*arguments: Any, **options: Any) -> ConnectorType:
        if role not in connector.roles:
            raise OptionError(f"{connector.kind} cannot be used by {PLURALS[role]}", where=connector.kind)
        for option in options:
            if role not in applies.get(option, ()):
                raise OptionError.of(_unexpected_option(connector.kind, option, applies, role))
        return connector(*arguments, **options)

    construct.__name__, construct.__qualname__ = role, f"{connector.__name__}.{role}"
    construct.__doc__, construct.__module__ = connector.__doc__, connector.__module__
    construct.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        own, return_annotation=connector
    )
    return construct


def _readable(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter whose annotation is the type alone, without the validators."""
    annotation = parameter.annotation
    if get_origin(annotation) is Annotated:
        annotation = annotation.__origin__
    return parameter.replace(annotation=annotation)


def _unexpected_option(kind: str, option: str, applies: Mapping[str, frozenset[Role]], role: Role) -> Problem:
    if option in applies:
        return _misplaced_problem(kind, option, applies[option], role)
    known = [name for name, roles in applies.items() if role in roles]
    return Problem(kind, f"unknown option `{option}`", did_you_mean(option, known))


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
