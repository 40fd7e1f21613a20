"""The summary of a run: rows read and written, row accounting, side outputs, and how to resume."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headrace.explain.text import Line
from headrace.runtime.progress.row_accounting import count_of
from headrace.runtime.progress.status_text import format_rate, format_time
from headrace.runtime.unrouted import DIRECTORY

if TYPE_CHECKING:
    from headrace.runtime.options import Until
    from headrace.runtime.progress.status import Status

_TEXTS = {
    "stopped": "stopped",
    "caught_up": "processed the available input",
    "drained": "drained: the input has ended, every window is closed",
}


@dataclass(frozen=True)
class Summary:
    """A run that has ended without a failure."""

    pipeline: str
    ending: Until | Literal["standby"]
    seconds: float
    status: Status
    directory: Path
    command: str
    """The command that resumes the run; empty after a drain."""
    reason: str = ""
    """The reason why a standby ended without taking over."""

    def lines(self) -> Iterator[Line]:
        """Yield the summary as lines of text with roles."""
        if self.ending == "standby":
            yield (self.pipeline, "title"), (f" standby ended: {self.reason}", "good")
            return
        yield (self.pipeline, "title"), (f" {_TEXTS[self.ending]} in {self.seconds:.1f} s", "good")
        facts = list(self._facts())
        width = max(12, *(len(word) for word, _, _ in facts))
        for word, value, more in facts:
            yield (f"  {word:<{width}} ", "rail"), (value, "fact"), (f"  {more}" if more else "", "rail")

    def data(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        facts = asdict(self.status)
        facts.pop("active")
        facts.pop("phase")
        facts["balanced"] = all(accounting.balanced for accounting in self.status.steps.values())
        ending = {"ending": self.ending} | ({"reason": self.reason} if self.reason else {})
        return {**ending, "directory": str(self.directory), "resume": self.command, **facts}

    def _facts(self) -> Iterator[tuple[str, str, str]]:
        """Yield a label, a value and further text for each line."""
        status = self.status
        yield "read", count_of(status.rows_in, "row"), format_rate(status.rate) if status.rows_in else ""
        if status.counted:
            sinks = ", ".join(f"{name} {rows:,}" for name, rows in status.sinks.items())
            yield "written", count_of(status.rows_out, "row"), sinks
        for name, accounting in status.steps.items():
            yield (
                name,
                str(accounting),
                "" if accounting.balanced else "these do not add up: please report it",
            )
        for mismatch in status.mismatches[:3]:
            yield "mismatch", str(mismatch), "please report it"
        for name, rules in status.rules.items():
            faults = f"{len(rules.faults)} cannot be used" if rules.faults else ""
            yield name, f"{count_of(len(rules.in_force), 'rule')} in force", faults
        yield from self._side_outputs()
        if status.watermark and self.ending != "drained":
            slowest = f"slowest partition {status.slowest_partition}" if status.slowest_partition else ""
            yield "watermark", format_time(status.watermark), slowest
        if self.ending != "drained":
            yield "checkpoint", f"in {self.directory}", ""
        if self.command:
            yield "to resume", self.command, ""

    def _side_outputs(self) -> Iterator[tuple[str, str, str]]:
        status = self.status
        timeouts = sum(accounting.timed_out for accounting in status.steps.values())
        counts = (
            ("late", "row", status.late),
            ("timeouts", "timeout", timeouts),
            ("dead_letters", "record", status.dead_letters),
        )
        for output, noun, count in counts:
            if count:
                yield output.replace("_", " "), count_of(count, noun), self._storage_of(output)

    def _storage_of(self, output: str) -> str:
        """Return where the rows of a side output without a sink were stored in this run, and how many."""
        stored = {name: n for name, n in self.status.unrouted.items() if n and name.endswith(f".{output}")}
        return ", ".join(f"{n:,} stored in {self.directory / DIRECTORY / name}" for name, n in stored.items())
