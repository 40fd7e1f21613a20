"""Reports on the results of a detector or of an online model for one key, as data and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class VerdictReport:
    """The last rows of a key with their results, and what these are based on."""

    known: bool = True
    """True if the input has the key, or was not read."""
    taken: int | None = None
    """The number of processed rows of the key; None if the input cannot be replayed."""
    rows: tuple[dict[str, Any], ...] = ()
    """The last processed rows: `time`, `row`, `result`, and `based_on` or `features`."""
    ahead: tuple[dict[str, Any], ...] = ()
    """Rows that the watermark has not passed."""
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "rows_taken": self.taken,
            "rows": list(self.rows),
            "ahead": list(self.ahead),
            "notes": list(self.notes),
        }


def describe_basis(basis: Mapping[str, Any]) -> str:
    """Describe the rows that a verdict is based on.

    >>> describe_basis({"rows": 0, "warm_up": False, "of": "threshold (high 5)"})
    'threshold (high 5)'
    """
    if not basis["rows"]:
        return str(basis["of"]) + ("; only learned, in the warm-up" if basis["warm_up"] else "")
    rows = f"{basis['rows']:,} earlier row{'s' if basis['rows'] > 1 else ''}"
    first, last = (str(basis.get(end, "")).replace(".000Z", "Z") for end in ("from", "to"))
    text = f"{basis['of']} of {rows}" + (f", from {first} to {last}" if first else "")
    return f"{text}; only learned, in the warm-up" if basis["warm_up"] else text
