"""Options of one role on a connector in another, and options that are set twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import Pipeline, connect
from headrace.connectors import registry
from headrace.connectors.base import Connector, Role
from headrace.connectors.roles import option_roles
from headrace.errors import DocumentError, OptionError


def rows(pipeline: Pipeline) -> Any:
    return pipeline.read("tx", connect.memory(), schema="card string")


USES: dict[Role, Callable[[Pipeline, Connector], Any]] = {
    "source": lambda pipeline, connector: pipeline.read(
        "step", connector, format="json", schema="card string"
    ),
    "sink": lambda pipeline, connector: rows(pipeline).write("step", connector),
    "table": lambda pipeline, connector: rows(pipeline).lookup("step", connector, on="card"),
}


@pytest.mark.parametrize(
    ("role", "connector", "error"),
    [
        (
            "source",
            connect.kafka(servers="a:1", topic="t", compression="lz4"),
            "`step`: kafka: compression: `compression` is an option of sinks, not of sources\n"
            "  hint: remove it; it applies where kafka is used by sinks",
        ),
        (
            "sink",
            connect.kafka(servers="a:1", topic="t", start="earliest"),
            "`step`: kafka: start: `start` is an option of sources, not of sinks\n"
            "  hint: remove it; it applies where kafka is used by sources",
        ),
        (
            "sink",
            connect.files(path="out/", schema="card string"),
            "`step`: files: schema: `schema` is an option of sources and lookup tables, not of sinks\n"
            "  hint: remove it; it applies where files is used by sources and lookup tables",
        ),
        (
            "table",
            connect.sqlite(path="a.db", table="t", cursor="id"),
            "`step`: sqlite: cursor: `cursor` is an option of sources, not of lookup tables\n"
            "  hint: remove it; it applies where sqlite is used by sources",
        ),
    ],
)
def test_option_of_another_role_is_an_error_where_the_connector_is_used(
    role: Role, connector: Connector, error: str
) -> None:
    with pytest.raises(OptionError) as caught:
        USES[role](Pipeline("p"), connector)
    assert str(caught.value) == error


def test_document_reports_every_option_of_another_role_at_its_line() -> None:
    with pytest.raises(DocumentError) as caught:
        Pipeline.from_yaml_text(
            "name: p\n"
            "sources: {tx: {memory: {}, schema: a int}}\n"
            "sinks:\n"
            "  out:\n"
            "    from: tx\n"
            "    kafka:\n"
            "      servers: a:1\n"
            "      topic: t\n"
            "      start: latest\n"
            "      group: g\n"
        )
    assert [problem.where for problem in caught.value.problems] == [
        "<text>:9:7: kafka: start",
        "<text>:10:7: kafka: group",
    ]


def test_every_option_applies_to_a_role_of_its_connector() -> None:
    for kind in registry.kinds():
        model = registry.connector(kind)
        for option, roles in option_roles(model).items():
            assert roles & model.roles, f"{kind}: {option}"


def test_format_or_schema_set_twice_with_different_values_is_an_error() -> None:
    pipeline = Pipeline("p")
    source = connect.files(path="in/", format="json", schema="card string")
    pipeline.read("same", source, format="json", schema="card string")
    with pytest.raises(OptionError, match="`other`: `format` is set twice, with different values"):
        pipeline.read("other", source, format="csv")
    with pytest.raises(OptionError, match="`other`: `schema` is set twice, with different values"):
        pipeline.read("other", source, schema="card int")
    with pytest.raises(OptionError, match="`home`: `format` is set twice, with different values"):
        rows(pipeline).lookup("home", source, on="card", format="csv")


def test_format_of_the_step_overrides_one_that_the_path_implies() -> None:
    read = Pipeline("p").read("tx", connect.files(path="in.csv"), format="json", schema="card string")
    assert read is not None
