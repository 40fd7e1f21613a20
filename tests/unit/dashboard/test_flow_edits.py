"""Operations of the flow editor on the text of a document: minimal differences, comments and order kept."""

from __future__ import annotations

from difflib import ndiff
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from ruamel.yaml import YAML
from tests.dashboard.simulated import EXAMPLES

from headrace.dashboard.editor.documents import check_document
from headrace.dashboard.editor.flow.operations import Operation, apply
from headrace.dashboard.editor.flow.palette import palette
from headrace.dashboard.editor.splices import remove_value, rename_key, set_value
from headrace.errors import DocumentError, OptionError
from headrace.yaml.entries import STEPS

OPERATIONS: TypeAdapter[list[Operation]] = TypeAdapter(list[Operation])
DOCUMENT = """\
# Payments, as the shop sends them.
name: fraud   # the team owns it

sources:
  # From the shop.
  tx:
    kafka: {servers: "a:9092", topic: payments}  # one topic
    format: json
    schema: >
      card string,
      amount double, ts timestamp
    event_time: {column: ts,
                 out_of_order: 1 minute}

  # Rates.
  rates: {memory: {}, schema: 'card string, at timestamp', event_time: at}
steps:
  # Only large ones.
  large: {from: tx, where: amount > 50}  # euros
  both:
    union:
      - large
      - rates  # last
  totals:
    from: large
    key_by: card
    window: {tumbling: 10 minutes}
    aggregate: {n: count(*)}
  report:
    sql: |
      select large.card from large
      join rates on large.card = rates.card
  joined: {from: large, join: {with: rates, on: card, within: 5 minutes}}
sinks:
  out: {from: totals, console: {}}
  late: {from: totals.late, console: {}}
# The end.
"""


def edit(text: str, *operations: dict[str, Any]) -> str:
    return apply(text, OPERATIONS.validate_python(list(operations))).document


def changes(*operations: dict[str, Any], text: str = DOCUMENT) -> list[str]:
    """Return the lines that operations remove and add."""
    lines = ndiff(text.splitlines(), edit(text, *operations).splitlines())
    return [line.rstrip() for line in lines if line[0] in "+-"]


def test_entries_are_added_to_an_empty_document() -> None:
    text = edit(
        "",
        {"op": "add", "item": "sources/memory"},
        {"op": "set", "path": ["sources", "memory", "schema"], "value": "card string, amount double"},
        {"op": "add", "item": "steps/where", "source": "memory"},
        {"op": "set", "path": ["steps", "filter", "where"], "value": "amount > 50"},
        {"op": "add", "item": "sinks/console", "source": "filter", "name": "shown"},
    )
    assert text == (
        "name: new-pipeline\n"
        "sources:\n  memory:\n    memory: {}\n    schema: card string, amount double\n"
        "steps:\n  filter:\n    from: memory\n    where: amount > 50\n"
        "sinks:\n  shown:\n    from: filter\n    console: {}\n"
    )
    assert check_document(text).problems == ()


def test_section_is_added_at_its_place() -> None:
    added = {"op": "add", "item": "sources/memory"}
    assert edit("name: p\nsinks:\n  out: {console: {}}\n", added).index("sources:") < len("name: p\nsou")
    assert edit("steps:\n  # none yet\n", {"op": "add", "item": "steps/drop"}).startswith("steps:")


def test_name_of_a_new_entry_is_free() -> None:
    text = edit(DOCUMENT, {"op": "add", "item": "sinks/console"}, {"op": "add", "item": "sinks/console"})
    assert "  to_console:\n    from:\n" in text
    assert "  to_console_2:\n" in text
    with pytest.raises(OptionError, match="`out` is taken"):
        edit(DOCUMENT, {"op": "add", "item": "sinks/console", "name": "out"})


def test_entry_is_added_between_two_others() -> None:
    added = {"op": "add", "item": "steps/where", "source": "totals", "target": "out", "input": "from"}
    assert changes(added)[-2:] == [
        "-   out: {from: totals, console: {}}",
        "+   out: {from: filter, console: {}}",
    ]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (["sources", "tx", "kafka", "topic"], "x", '+     kafka: {servers: "a:9092", topic: x}  # one topic'),
        (
            ["sources", "tx", "event_time", "idle"],
            "1 hour",
            "+                  out_of_order: 1 minute, idle: 1 hour}",
        ),
        (["sources", "rates", "event_time", "idle"], "1 hour", "event_time: {column: at, idle: 1 hour}}"),
        (["steps", "large", "where"], "a, b = 'x'", """where: "a, b = 'x'"}  # euros"""),
        (["steps", "totals", "window", "tumbling", "size"], "1 hour", "+     window: {tumbling: 1 hour}"),
        (
            ["steps", "totals", "window", "tumbling", "offset"],
            "1 hour",
            "{size: 10 minutes, offset: 1 hour}}",
        ),
        (["steps", "totals", "emit", "lateness"], "1 hour", "+     emit: {lateness: 1 hour}"),
        (["steps", "totals", "where"], "n > 1", "+     where: n > 1"),
        (["name"], "frauds", "+ name: frauds   # the team owns it"),
    ],
)
def test_option_changes_its_own_line(path: list[str], value: str, expected: str) -> None:
    difference = changes({"op": "set", "path": path, "value": value})
    assert difference[-1].endswith(expected.removeprefix("+ ")), difference
    assert len(difference) <= 2


def test_option_is_removed_with_its_line() -> None:
    assert changes({"op": "set", "path": ["steps", "totals", "key_by"]}) == ["-     key_by: card"]
    removed = changes({"op": "set", "path": ["sources", "tx", "event_time", "out_of_order"]})
    assert "+     event_time: {column: ts}" in removed
    assert changes({"op": "set", "path": ["steps", "totals", "emit", "lateness"]}) == []


def test_query_of_several_lines_is_a_block() -> None:
    query = {"op": "set", "path": ["steps", "report", "sql"], "value": "select 1\nfrom tx"}
    assert "    sql: |-\n      select 1\n      from tx\n  joined:" in edit(DOCUMENT, query)


def test_value_can_be_yaml() -> None:
    changed = {"op": "set", "path": ["steps", "totals", "aggregate"], "yaml": "{n: count(*), m: max(amount)}"}
    assert changes(changed)[-1] == "+     aggregate: {n: count(*), m: max(amount)}"
    with pytest.raises(OptionError, match="not YAML"):
        edit(DOCUMENT, changed | {"yaml": "{n: "})


def test_kind_of_a_window_is_chosen() -> None:
    kinds = ["tumbling", "session", "global"]
    chosen = {"op": "choose", "path": ["steps", "totals", "window"], "key": "session", "among": kinds}
    assert changes(chosen)[-1] == "+     window: {session: {}}"
    assert changes(chosen | {"key": "global"})[-1] == "+     window: global"
    assert changes(chosen | {"key": ""}) == ["-     window: {tumbling: 10 minutes}"]


def test_connector_of_a_lookup_is_chosen_beside_its_other_keys() -> None:
    text = edit(DOCUMENT, {"op": "add", "item": "steps/lookup", "source": "tx"})
    text = edit(text, {"op": "set", "path": ["steps", "lookup", "lookup", "on"], "value": "card"})
    chosen = {
        "op": "choose",
        "path": ["steps", "lookup", "lookup"],
        "key": "sqlite",
        "among": ["files", "sqlite"],
    }
    assert "lookup: {sqlite: {}, on: card}" in edit(text, chosen)


def test_rename_updates_all_references() -> None:
    assert changes({"op": "rename", "name": "rates", "to": "prices"}) == [
        "-   rates: {memory: {}, schema: 'card string, at timestamp', event_time: at}",
        "+   prices: {memory: {}, schema: 'card string, at timestamp', event_time: at}",
        "-       - rates  # last",
        "+       - prices  # last",
        "-       join rates on large.card = rates.card",
        "+       join prices on large.card = prices.card",
        "-   joined: {from: large, join: {with: rates, on: card, within: 5 minutes}}",
        "+   joined: {from: large, join: {with: prices, on: card, within: 5 minutes}}",
    ]
    assert "  late: {from: sums.late, console: {}}" in edit(
        DOCUMENT, {"op": "rename", "name": "totals", "to": "sums"}
    )
    renamed = edit(DOCUMENT, {"op": "rename", "name": "large", "to": "big"})
    assert [problem["what"] for problem in check_document(DOCUMENT).problems] == []
    assert check_document(renamed).problems == ()


@pytest.mark.parametrize("name", ["rates", "a b", ""])
def test_name_that_is_taken_or_invalid_is_refused(name: str) -> None:
    with pytest.raises(OptionError):
        edit(DOCUMENT, {"op": "rename", "name": "tx", "to": name})


def test_removed_entry_takes_its_comment_and_its_references() -> None:
    assert changes({"op": "remove", "name": "rates"}) == [
        "-   # Rates.",
        "-   rates: {memory: {}, schema: 'card string, at timestamp', event_time: at}",
        "-       - rates  # last",
        "-   joined: {from: large, join: {with: rates, on: card, within: 5 minutes}}",
        "+   joined: {from: large, join: {on: card, within: 5 minutes}}",
    ]
    cleared = edit(DOCUMENT, {"op": "remove", "name": "totals"})
    assert "  out: {from: null, console: {}}" in cleared
    assert cleared.endswith("# The end.\n")


def test_empty_section_is_removed() -> None:
    text = edit(DOCUMENT, {"op": "remove", "name": "out"}, {"op": "remove", "name": "late"})
    assert "sinks" not in text
    assert text.endswith("# The end.\n")


def test_many_operations_end_with_an_error() -> None:
    text = "sources: {tx: {memory: {}}}\n"
    operations = [{"op": "rename", "name": name, "to": to} for name, to in (("tx", "b"), ("b", "tx"))] * 5000
    with pytest.raises(DocumentError, match=r"more than 1\.5 seconds of CPU time"):
        apply(text, TypeAdapter(list[Operation]).validate_python(operations))


def test_connections_are_made_and_removed() -> None:
    connected = {"op": "connect", "source": "tx.dead_letters", "target": "late"}
    assert changes(connected)[-1] == "+   late: {from: tx.dead_letters, console: {}}"
    union = {"op": "connect", "source": "tx", "target": "both", "input": "union"}
    assert changes(union) == ["+       - tx"]
    second = {"op": "connect", "source": "totals", "target": "joined", "input": "with"}
    assert "join: {with: totals, on: card" in changes(second)[-1]
    cut = {"op": "disconnect", "source": "totals.late", "target": "late", "input": "from"}
    assert changes(cut)[-1] == "+   late: {from: null, console: {}}"
    assert changes({"op": "disconnect", "source": "large", "target": "both", "input": "union"}) == [
        "-       - large"
    ]


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"op": "connect", "source": "tx", "target": "rates"}, "is a source"),
        ({"op": "connect", "source": "txx", "target": "out"}, "unknown entry `txx`"),
        ({"op": "disconnect", "source": "tx", "target": "out"}, "does not read"),
        ({"op": "disconnect", "source": "large", "target": "report", "input": "sql"}, "query"),
        ({"op": "remove", "name": "nothing"}, "unknown entry"),
        ({"op": "add", "item": "steps/nothing"}, "unknown kind"),
        ({"op": "set", "path": ["steps"], "value": 1}, "path of an option"),
    ],
)
def test_operation_that_does_not_fit_is_refused(operation: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        edit(DOCUMENT, operation)


def test_text_that_is_not_yaml_is_refused() -> None:
    with pytest.raises(DocumentError):
        edit("name: [", {"op": "add", "item": "sources/memory"})


def test_shared_value_is_not_damaged() -> None:
    text = "name: p\nsources:\n  a: &a {memory: {}, schema: x int}\n  b: *a\n"
    with pytest.raises(OptionError, match="alias"):
        edit(text, {"op": "set", "path": ["sources", "a", "memory", "name"], "value": "m"})
    with pytest.raises(OptionError, match="alias"):
        edit(text, {"op": "set", "path": ["sources", "b", "memory", "name"], "value": "m"})
    assert "c: *a" in edit(text, {"op": "rename", "name": "b", "to": "c"})


def test_every_kind_of_step_is_in_the_palette() -> None:
    kinds = {key for item in palette() if item.section == "steps" for key in item.entry}
    assert {model.key for model in STEPS} <= kinds


@pytest.mark.parametrize("item", [item.id for item in palette()])
def test_every_item_can_be_added(item: str) -> None:
    text = edit(
        "name: p\nsources: {tx: {memory: {}, schema: a int}}\n", {"op": "add", "item": item, "source": "tx"}
    )
    problems = check_document(text).problems
    assert all("unknown" not in problem["what"] and problem["path"][:2] for problem in problems), problems


def test_values_of_an_example_can_be_set_and_removed() -> None:
    text = (EXAMPLES / "page_views" / "pipeline.yaml").read_text()
    lines = set(text.splitlines())
    for path in scalar_paths(YAML(typ="safe", pure=True).load(text))[::3]:
        changed = set_value(text, path, "another, text")
        assert len([line for line in changed.splitlines() if line not in lines]) == 1
        remove_value(text, path)
        if isinstance(path[-1], str):
            rename_key(text, path, "renamed")


def scalar_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = [each for key, item in items for each in scalar_paths(item, (*path, key))]
    return inner if isinstance(value, dict | list) else [path]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters(codec="ascii", exclude_categories=["Cc"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.from_regex(r"[a-z]{1,3}", fullmatch=True), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=25, deadline=None)
@given(
    value=VALUES,
    path=st.sampled_from(
        [
            ("sources", "tx", "kafka", "topic"),
            ("steps", "totals", "key_by"),
            ("steps", "new"),
            ("steps", "both", "union"),
        ]
    ),
)
def test_any_value_is_written_so_that_it_is_read_again(value: Any, path: tuple[str, ...]) -> None:
    document = YAML(typ="safe", pure=True).load(set_value(DOCUMENT, path, value))
    for key in path:
        document = document[key]
    assert document == value or (value in ({}, []) and not document)


@pytest.mark.parametrize("path", [[], ["steps"]])
def test_kind_of_a_section_cannot_be_chosen(path: list[str]) -> None:
    with pytest.raises(OptionError, match="expected the path of an option"):
        apply(DOCUMENT, OPERATIONS.validate_python([{"op": "choose", "path": path, "key": "json"}]))


def test_document_with_a_list_as_key_can_be_edited() -> None:
    operation = {"op": "set", "path": ["sources", "n", "schema"], "value": "a int"}
    text = "sources: {n: {memory: {}}}\n[a, b]: c\n"
    edited = apply(text, OPERATIONS.validate_python([operation])).document
    assert edited == "sources: {n: {memory: {}, schema: a int}}\n[a, b]: c\n"
