"""Generate the files of the example: `python -m examples.ad_attribution.make_events`.

The expected rows are computed here by comparing every impression with every click.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from examples.writing import instant, json_lines, write_all

WITHIN = 600
CAMPAIGNS = {"a1": "spring", "a2": "spring", "a3": "shoes", "a4": "travel"}


def events(seed: int = 11, impressions: int = 120) -> list[dict[str, Any]]:
    """Impressions, and clicks on some of them: most soon, some after more than 10 minutes, some twice."""
    chance = random.Random(seed)
    made: list[dict[str, Any]] = []
    for number in range(impressions):
        second = number * 20 + chance.randrange(20)
        user, ad = f"u{chance.randrange(25)}", chance.choice(list(CAMPAIGNS))
        made.append(
            {"kind": "impression", "user": user, "ad": ad, "campaign": CAMPAIGNS[ad], "second": second}
        )
        for _ in range(chance.choice([0, 0, 0, 1, 1, 2])):
            delay = chance.choice([chance.randrange(5, 300), WITHIN, chance.randrange(WITHIN + 1, 900)])
            made.append({"kind": "click", "user": user, "ad": ad, "campaign": None, "second": second + delay})
    return sorted(made, key=lambda event: event["second"] + chance.choice([0, 0, 0, 25]))


def attribute_clicks(actual: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each impression and click on it, and one for each impression without a click."""
    rows = []
    clicks = [event for event in actual if event["kind"] == "click"]
    for view in (event for event in actual if event["kind"] == "impression"):
        same = [click for click in clicks if (click["user"], click["ad"]) == (view["user"], view["ad"])]
        followed = [click["second"] for click in same if 0 <= click["second"] - view["second"] <= WITHIN]
        own = {name: view[name] for name in ("user", "ad", "campaign")} | {"seen": instant(view["second"])}
        rows += [own | {"clicked": instant(second)} for second in followed] or [own | {"clicked": None}]
    return rows


def files() -> dict[str, str]:
    """Return the files by name."""
    actual = events()
    lines = [
        {**{name: value for name, value in event.items() if name != "second"}, "ts": instant(event["second"])}
        for event in actual
    ]
    return {"events.jsonl": json_lines(lines), "expected.jsonl": json_lines(attribute_clicks(actual))}


if __name__ == "__main__":
    write_all(Path(__file__).parent, files())
