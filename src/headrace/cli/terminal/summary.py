"""What a run has done, told when it ends: rows read and written, what was late or a dead letter and where it is stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headrace.explain.text import Line

if TYPE_CHECKING:
    from headrace.runtime.progress import Status

Ending = Literal["done", "finished", "drained"]
_SAID = {
    "done": "took what was there",
    "finished": "input ended, every window closed",
    "drained": "drained",
}


@dataclass(frozen=True)
class Summary:
    """A run that has ended well."""

    pipeline: str
    ending: Ending
    seconds: float
    status: Status
    directory: Path
    command: str
    """What to type to go on from here; empty where there is nothing to go on with."""

    def lines(self) -> Iterator[Line]:
        """As text with roles."""
        yield (self.pipeline, "title"), (f" {_SAID[self.ending]} in {self.seconds:.1f} s", "good")
        facts = list(self._facts())
        width = max(12, *(len(word) for word, _, _ in facts))
        for word, value, more in facts:
            yield (f"  {word:<{width}} ", "rail"), (value, "fact"), (f"  {more}" if more else "", "rail")

    def _facts(self) -> Iterator[tuple[str, str, str]]:
        """What is said of what: a word, a value, and perhaps more."""
        status = self.status
        yield ("read", f"{status.rows_in:,} rows", per_second(status.rate) if status.rows_in else "")
        sinks = ", ".join(f"{name} {rows:,}" for name, rows in status.sinks.items())
        if status.counted:
            yield ("written", f"{status.rows_out:,} rows", sinks)
        for name, balance in status.steps.items():
            off = "" if balance.balanced else "these don't add up: please report it"
            yield (name, str(balance), off)
        for name, rules in status.rules.items():
            faults = f"{len(rules.faults)} can't be used" if rules.faults else ""
            yield (name, f"{len(rules.in_force)} rules in force", faults)
        timeouts = sum(balance.timed_out for balance in status.steps.values())
        side_outputs = {"late": status.late, "timeouts": timeouts, "dead_letters": status.dead_letters}
        for output, count in side_outputs.items():
            if count:
                yield (output.replace("_", " "), f"{count:,} rows", self._kept(output))
        if status.watermark and self.ending != "finished":
            yield ("watermark", moment(status.watermark), "")
        if self.ending != "finished":
            yield ("position", f"in {self.directory}", "")
        if self.command:
            yield ("to go on", self.command, "")

    def data(self) -> dict[str, Any]:
        """As plain data."""
        facts = asdict(self.status)
        facts.pop("active")
        facts["balanced"] = all(balance.balanced for balance in self.status.steps.values())
        return {"ending": self.ending, "directory": str(self.directory), "go_on": self.command, **facts}

    def _kept(self, output: str) -> str:
        found = sorted((self.directory / "kept").glob(f"*.{output}"))
        return f"kept in {', '.join(map(str, found))}" if found else ""


def per_second(rate: float) -> str:
    """A rate, with as many digits as mean something.

    >>> per_second(12345.6), per_second(0.123)
    ('12,346/s', '0.12/s')
    """
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"


def moment(text: str) -> str:
    """A time of Spark's reports as people write it.

    >>> moment("2026-03-01T12:00:05.250Z")
    '2026-03-01 12:00:05'
    >>> moment("9999-12-31T23:58:59.999Z")
    'at the end of time'
    """
    if text.startswith("9999-"):  # where --finish puts it, to close every window
        return "at the end of time"
    return text.replace("T", " ").removesuffix("Z").split(".")[0]
