"""Check the rows that are read as changes."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.steps.base import Ref
from headrace.steps.facts import CHANGE, Facts
from headrace.steps.traits import Finding

_KEYS = ("changelog",)
CHANGES = ("insert", "update_before", "update_after", "delete")
"""The values of the column `change`."""


def check_change(facts: Facts, ref: Ref) -> Iterator[Finding]:
    """Yield the problems of rows that are read as changes."""
    name = ref.step.split(":")[0]
    if facts.cdc:
        yield Finding(
            f"`{name}` is a CDC source, whose changes have the operation in a struct",
            "make it a table with key_by(<its key>).latest(...)",
            _KEYS,
        )
    elif facts.change != "none":
        yield Finding(
            f"the rows of `{name}` replace earlier ones already", "remove changelog: it is a table", _KEYS
        )
    elif facts.columns is not None and CHANGE not in facts.columns:
        yield Finding(
            f"the rows of `{name}` have no column `change`",
            f"add `change string` to the schema, with the values {', '.join(CHANGES)}",
            _KEYS,
        )
    elif facts.schema is not None and CHANGE in facts.schema and str(facts.schema[CHANGE].type) != "string":
        yield Finding(
            f"the column `change` must be a string, got {facts.schema[CHANGE].type}",
            f"its values are {', '.join(CHANGES)}",
            _KEYS,
        )
