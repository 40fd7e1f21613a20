"""Rows that a source delivers as the changes of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from headrace.changelogs.check import check_change
from headrace.steps.base import Plan
from headrace.steps.facts import Facts
from headrace.steps.grammar.declaration import Input, StepNode, declare
from headrace.steps.grammar.step import PaletteEntry, Slot
from headrace.steps.grammar.values import Flag
from headrace.steps.traits import Finding, RealTimeNote, Tier
from headrace.steps.unrouted import note_arrival_order


@declare
class Changelog(StepNode):
    """Reads the rows of a stream as changes of a table, by their column `change`.

    Without a key the changes are applied as they are: an `update_before` or `delete` removes one row that
    equals it. With `latest` after it they are applied by key: then `update_before` may be missing, and a
    `delete` needs only the key.
    """

    input: Input
    changelog: Flag
    """The rows are changes: the column `change` has the kind of each."""

    verb: ClassVar[str] = "changelog"
    key: ClassVar[str] = "changelog"
    slot: ClassVar[Slot] = Slot.CHANGELOG
    label: ClassVar[str] = "changelog"
    example: ClassVar[str] = "such as changelog: true"
    palette: ClassVar[PaletteEntry] = PaletteEntry("Time and state", "Changelog", {"changelog": True})
    row_by_row: ClassVar[bool] = True

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True unless the value is `false`."""
        return keys.get(cls.key, False) is not False

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        return replace(inputs[0], change="table", table_key=(), delivered=True)

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from check_change(plan.facts(self.input), self.input)

    def tier(self, plan: Plan) -> Tier:
        return Tier("native", "the column `change` labels each row")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_arrival_order()

    def description(self) -> list[str]:
        return ["its rows are changes of a table"]
