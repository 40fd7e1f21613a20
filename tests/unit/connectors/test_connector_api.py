"""The roles of connectors: what each implements, and the constructors with the options of one role."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import ClassVar

import pytest
from pydantic import BaseModel

from headrace import connect, connector_api
from headrace.connector_api import Connector, Role, Sink, Source, Table
from headrace.connectors import registry
from headrace.connectors.base import Readable
from headrace.connectors.roles import option_roles
from headrace.errors import OptionError

ROLES: dict[Role, type] = {"source": Source, "sink": Sink, "table": Table}
OF_ALL = {"kind", "roles", "jars", "source", "sink", "carries", "with_format", "explain_failure"}
"""The members of every connector."""
REQUIRED: dict[Role, tuple[str, ...]] = {
    "source": ("reader",),
    "sink": ("writer",),
    "table": ("reader", "key_table", "listing"),
}
"""A connector with the role has at least one of these."""
BUILT_IN = [registry.connector(kind) for kind in registry.built_in()]
IN_ROLES = [(each, role) for each in BUILT_IN for role in ("source", "sink") if role in each.roles]


def members(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")} - {"kind"}


def overridden(connector: type[Connector]) -> Iterator[str]:
    """Yield the members that a connector defines itself, or by a base of several connectors."""
    for base in connector.__mro__[: connector.__mro__.index(Connector)]:
        yield from members(base) - set(connector.model_fields)


def test_every_member_belongs_to_one_role_or_to_all_connectors() -> None:
    own = members(Connector) - members(BaseModel) - {name for name in vars(Connector) if "model_" in name}
    assert own | {"kind", "roles"} == OF_ALL
    of_roles = [name for kind in (Readable, Source, Sink, Table) for name in members(kind)]
    assert len(of_roles) == len(set(of_roles))
    assert OF_ALL.isdisjoint(of_roles)


@pytest.mark.parametrize("connector", BUILT_IN, ids=lambda each: each.kind)
def test_a_connector_implements_its_roles_and_no_others(connector: type[Connector]) -> None:
    own = set(overridden(connector))
    for role, kind in ROLES.items():
        if role in connector.roles:
            assert own & set(REQUIRED[role]), role
        else:
            assert own.isdisjoint(members(kind)), role


@pytest.mark.parametrize(("connector", "role"), IN_ROLES, ids=lambda each: getattr(each, "kind", each))
def test_a_constructor_of_a_role_has_the_options_of_the_role(connector: type[Connector], role: Role) -> None:
    shown = inspect.signature(getattr(connector, role)).parameters
    roles = option_roles(connector)
    aliases = {name: field.alias or name for name, field in connector.model_fields.items()}
    assert [aliases.get(name, name) for name in shown] == [name for name in roles if role in roles[name]]
    for option in (option for option in roles if role not in roles[option]):
        with pytest.raises(OptionError, match=f"{connector.kind}: {option}: `{option}` is an option of "):
            getattr(connector, role)(**{option: None})


def test_a_constructor_of_a_role_returns_the_connector() -> None:
    topic = connect.kafka.source(servers="a:9092", topic="t", start="latest")
    assert topic == connect.kafka(servers="a:9092", topic="t", start="latest")
    assert isinstance(topic, connect.kafka)


def test_a_constructor_of_a_role_names_its_own_options() -> None:
    with pytest.raises(OptionError, match="kafka: unknown option `topik`") as caught:
        connect.kafka.sink(servers="a:9092", topik="t")
    assert "did you mean `topic`?" in caught.value.hint
    assert "start" not in caught.value.hint


def test_a_constructor_of_a_role_shows_types_and_not_validators() -> None:
    assert "Annotated" not in str(inspect.signature(connect.kafka.sink))


def test_a_role_that_a_connector_does_not_have() -> None:
    with pytest.raises(OptionError, match="console: console cannot be used by sources"):
        connect.console.source()


def test_a_connector_of_0_2_needs_no_change() -> None:
    class Feed(Connector):
        kind: ClassVar[str] = "feed"
        roles: ClassVar[frozenset[Role]] = frozenset({"source"})
        replayable: ClassVar[bool] = True
        path: str

    assert Feed(path="a").source_guarantee == "exactly_once"
    assert Feed.source(path="a").offset_identity == ("feed",)
    with pytest.raises(OptionError, match="feed cannot be written to"):
        Feed(path="a").writer()


def test_the_names_of_the_api_are_listed() -> None:
    imported = {name for name in vars(connector_api) if name[0].isalpha()}
    assert set(connector_api.__all__) == imported
