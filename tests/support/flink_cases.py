"""Pattern cases in a neutral form, as transcripts.

The facts are Flink's; see tests/transcripts/patterns/flink_cep.yaml.

Run as a program it writes that file anew: `python tests/support/flink_cases.py cases.json > flink_cep.yaml`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HEADER = """\
# Translated from the tests of Apache Flink CEP (flink-libraries/flink-cep/src/test, Apache License 2.0),
# their results as flink-cep 2.3.0 gives them. `event` names the rows; a case without times has one row a
# second, and one whose times go back is taken in arrival order. Left out: cases that expect an exception when
# a skip finds no row to go to, which Headrace takes as no skip.
"""
_SCHEMA = (
    "k string, event string, type string, id int, name string, price double, volume double, ts timestamp"
)
_SKIPS = {"no_skip": "none", "skip_past_last": "past_last", "skip_to_next": "to_next"}
_VERBS = {
    "next": "next",
    "followedBy": "followed_by",
    "followedByAny": "followed_by_any",
    "notNext": "not_next",
    "notFollowedBy": "not_followed_by",
}
_INNER = {"strict": "consecutive", "any": "combinations"}
_OPERATORS = {"contains": "contains({0}, {1})", "starts_with": "startswith({0}, {1})"}


def transcript_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """The case as a transcript."""
    pattern = case["pattern"]
    names = list(_names(pattern["stages"]))
    match: dict[str, Any] = {
        "steps": [_step(stage) for stage in pattern["stages"]],
        "skip": _skip(pattern["skip"]),
    }
    if pattern["within"]:
        length = f"{pattern['within']['ms']} milliseconds"
        match["within"] = length if pattern["within"]["type"] == "first_and_last" else {"between": length}
    times = [event["ts"] or 0 for event in case["events"]]
    if times != sorted(times):
        match["order"] = "arrival"
    rows = [_row(event, place) for place, event in enumerate(case["events"])]
    actual = [
        {
            name: [{"event": key} for key in keys]
            for name in names
            if (keys := item["by_stage"].get(name, [])) or True
        }
        for item in case["flink_2_3_0_output"]
    ]
    return {
        "name": case["id"],
        "pipeline": {
            "sources": {"s": {"memory": {}, "schema": _SCHEMA, "event_time": {"column": "ts"}}},
            "steps": {"out": {"from": "s", "key_by": "k", "match": match}},
        },
        "script": [
            {"rows": {"s": rows}},
            {"watermark": {"s": round(max([row["ts"] for row in rows], default=0) + 0.001, 3)}},
            {"expect": {"out": actual}},
        ],
    }


def _names(stages: list[Mapping[str, Any]]) -> Iterator[str]:
    for stage in stages:
        if stage.get("group"):
            yield from _names(stage["group"])
        else:
            yield stage["name"]


def _step(stage: Mapping[str, Any], place: int = 0) -> dict[str, Any]:
    verb = _VERBS.get(stage["contiguity"] or "", "where")
    body: Any = [_step(inner) for inner in stage["group"]] if stage.get("group") else _condition(stage)
    name = stage["name"] or f"group of {next(_names([stage]))}"
    times = stage.get("times")
    message: dict[str, Any] = {}
    if times and (stage.get("one_or_more") or times["to"] is None):
        message["times"] = {"from": times["from"]}
    elif times:
        message["times"] = (
            times["from"] if times["from"] == times["to"] else {"from": times["from"], "to": times["to"]}
        )
    elif stage.get("one_or_more"):
        message["one_or_more"] = True
    message |= {word: True for word in ("optional", "greedy") if stage.get(word)}
    if stage.get("inner") in _INNER:
        message[_INNER[stage["inner"]]] = True
    if stage.get("until"):
        message["until"] = _one(stage["until"])
    if stage.get("within_prev_ms"):
        message["gap"] = f"{stage['within_prev_ms']} milliseconds"
    return {name: {verb: body, **message}}


def _condition(stage: Mapping[str, Any]) -> str:
    text = f"type = '{stage['subtype']}'" if stage.get("subtype") else ""
    for part in stage.get("where", ()):
        [(word, condition)] = part.items()
        item = _one(condition)
        text = f"({text}) {word} ({item})" if text else item
    return text or "true"


def _one(condition: Mapping[str, Any]) -> str:
    if condition["kind"] == "simple":
        return str(condition["sql"])
    agg = condition["agg"]
    rows = f"{agg['fn']}(`{agg['stage']}`.{agg['field']})"
    if agg.get("include_current"):
        rows = f"coalesce({rows}, 0) + {agg['field']}"
    elif agg["fn"] == "sum":
        rows = f"coalesce({rows}, 0)"
    value = agg["field"] if agg["value"] == "current" else agg["value"]
    message = f"{rows} {'=' if agg['cmp'] == '==' else agg['cmp']} {value}"
    return f"{_simple(agg['pre'])} and {message}" if agg.get("pre") else message


def _simple(expression: Mapping[str, Any]) -> str:
    value = f"'{expression['value']}'" if isinstance(expression["value"], str) else expression["value"]
    template = _OPERATORS.get(expression["op"], f"{{0}} {expression['op'].replace('==', '=')} {{1}}")
    return template.format(expression["field"], value)


def _skip(skip: Mapping[str, Any]) -> Any:
    if skip["type"] in _SKIPS:
        return _SKIPS[skip["type"]]
    return {skip["type"].removeprefix("skip_"): skip["stage"]}


def _row(event: Mapping[str, Any], place: int) -> dict[str, Any]:
    ts = place + 1 if event["ts"] is None else event["ts"] / 1000
    own = {key: event[key] for key in ("type", "id", "name", "price", "volume") if key in event}
    return {"k": "a", "event": event["key"], **own, "ts": ts}


def main(path: str) -> str:
    """The file of all cases."""
    cases = json.loads(Path(path).read_text())["cases"]
    documents = (
        json.dumps(transcript_of(case), ensure_ascii=False)
        for case in cases
        if not case.get("expected_exception")
    )
    return HEADER + "\n---\n".join(documents) + "\n"


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1]))
