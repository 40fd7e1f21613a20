"""Render the report of `headrace why` for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.debugging.verdict_text import VerdictReport, describe_basis

if TYPE_CHECKING:
    from headrace.debugging.key_report import KeyReport
    from headrace.debugging.rule_report import RuleReport
    from headrace.debugging.why import Why
    from headrace.explain.text import Line, Span

_HELD: dict[bool | None, Span] = {True: ("true ", "good"), False: ("false", "bad"), None: ("later", "warn")}


def lines_of(why: Why, *, whole: bool = True) -> Iterator[Line]:
    """Render the report of one step; rules that never matched the key are summarised unless `whole`."""
    yield from _heading(why)
    if isinstance(why.report, VerdictReport):
        yield from _indent(_verdict_lines(why.report), 1)
    elif why.report is not None:
        yield from _indent(_report_lines(why.report), 1)
    else:
        yield from _indent(_table(why), 1)
        for rule in why.rules:
            yield from _indent(_rule(rule, whole=whole), 1)
    for note in why.notes:
        yield ((f"  note: {note}", "warn"),)
    yield ()


def _indent(lines: Iterable[Line], depth: int) -> Iterator[Line]:
    return ((("  " * depth, ""), *line) for line in lines)


def _heading(why: Why) -> Iterator[Line]:
    progress = why.progress
    key = ", ".join(f"{name}={value}" for name, value in why.key.items()) or "all rows"
    epoch = "no epoch finished yet" if progress.epoch is None else f"epoch {progress.epoch}"
    ended = progress.watermark == "end"
    mark = "the input has ended" if ended else f"watermark {moment(progress.watermark or 'none')}"
    yield (
        (why.step, "name"),
        (f"  {why.verb}", "verb"),
        (f"  {key}", "label"),
        (f"  {epoch}, {mark}", "fact"),
    )


def _verdict_lines(report: VerdictReport) -> Iterator[Line]:
    if report.taken:
        of = f" of {report.taken:,}" if report.taken > len(report.rows) else ""
        yield ((f"the last {len(report.rows)}{of} rows", "heading"),)
    for item in report.rows:
        time = "" if item["time"] is None else f"  {moment(item['time'])}"
        yield ((time, "name"), (f"  {_values(item['row'])}", "fact"))
        yield from _basis(item)
        result = {name: value for name, value in item["result"].items() if name != "reason"}
        wrong = bool(result.get("anomalous"))
        reason = f"  {item['result']['reason']}" if item["result"].get("reason") else ""
        yield (("    -> ", "bad" if wrong else "good"), (_values(result), "fact"), (reason, "bad"))
    yield from _join(report.ahead, f"{_rows_word(len(report.ahead))} ahead of the watermark")
    for note in report.notes:
        yield ((f"note: {note}", "warn"),)


def _basis(item: Mapping[str, Any]) -> Iterator[Line]:
    if "based_on" in item:
        yield (("    compared with  ", "label"), (describe_basis(item["based_on"]), "fact"))
        return
    yield (("    features       ", "label"), (_values(item["features"]), "fact"))
    if item["contributions"] is None:
        yield (("    contributions  ", "label"), ("the model offers none", "rail"))
    else:
        rounded = {name: float(f"{value:.4g}") for name, value in item["contributions"].items()}
        yield (("    contributions  ", "label"), (_values(rounded), "fact"))


def _table(why: Why) -> Iterator[Line]:
    count = len(why.rules)
    heading = f"{count} rule{'s' if count != 1 else ''} of {why.table}"
    yield ((f"{heading if count else f'no rule of {why.table} is in force'}", "heading"),)
    for fault in why.faults:
        for number, line in enumerate(str(fault).splitlines()):
            yield (("" if number else "wrong: ", "bad"), (line, "fact"))


def _rule(rule: RuleReport, *, whole: bool) -> Iterator[Line]:
    since = f", since epoch {rule.since}" if rule.since else ""
    yield ((rule.rule, "name"), (f"  version {rule.version}{since}", "fact"))
    report = rule.report
    idle = not (report.partials or report.waiting or report.after or any(map(_had_effect, report.rows)))
    shown = _idle(report) if idle and not whole else _report_lines(report)
    yield from _indent(shown, 1)


def _had_effect(row: Mapping[str, Any]) -> bool:
    return bool(row["results"]) or any(
        "start" in attempt or "begins a" in attempt["outcome"] for attempt in row["attempts"]
    )


def _idle(report: KeyReport) -> Iterator[Line]:
    """Summarise a rule that none of the last rows started by the conditions that the last row failed."""
    if not report.known or not report.rows:
        yield from _report_lines(report)
        return
    of = f"the last {len(report.rows)} rows" if len(report.rows) > 1 else "the last row"
    yield ((f"no partial match; {of} began none. The last one:", "heading"),)
    yield from _row(report.rows[-1])
    yield from _notes(report)


def _report_lines(report: KeyReport) -> Iterator[Line]:
    if not report.known:
        yield (("it has had no row of this key", "warn"),)
    else:
        yield from _partials(report)
        yield from _waiting(report)
        yield from _rows(report)
    yield from _notes(report)


def _notes(report: KeyReport) -> Iterator[Line]:
    for note in report.notes:
        yield ((f"note: {note}", "warn"),)


def _partials(report: KeyReport) -> Iterator[Line]:
    if not report.partials:
        yield (("no partial match", "heading"),)
        return
    count = len(report.partials)
    yield ((f"{count} partial match{'es' if count > 1 else ''}", "heading"),)
    for partial in report.partials:
        yield from _partial(partial)


def _partial(partial: Mapping[str, Any]) -> Iterator[Line]:
    out = f", times out at {moment(partial['times_out'])}" if "times_out" in partial else ", never times out"
    yield ((f"  since {moment(partial['start'])}", "fact"), (out, "rail"))
    for row in partial["rows"]:
        taken = f"{row['step']}  " if row["step"] else ""
        yield ((f"    {taken}", "name"), (f"{moment(row['time'])}  {_values(row['row'])}", "fact"))
    if partial["complete"]:
        yield (("    complete; waits for a match that began earlier", "good"),)
        return
    if partial["for_time"]:
        yield (("    matches when its time is up", "label"),)
    yield from _next_steps("waits for", partial["waits_for"], partial["strict"])
    yield from _next_steps("ends with", partial["ends_with"], strict=False)


def _next_steps(word: str, steps: Iterable[Mapping[str, Any]], strict: bool) -> Iterator[Line]:
    very_next = ", the very next row" if strict else ""
    for following in steps:
        condition = f": {following['condition']}" if following["condition"] else ": any row"
        yield ((f"    {word} ", "label"), (following["step"], "name"), (f"{condition}{very_next}", "fact"))


def _waiting(report: KeyReport) -> Iterator[Line]:
    if report.waiting:
        yield ((f"{_plural(len(report.waiting))} for the watermark; if it passed now:", "heading"),)
        for row in report.waiting:
            yield from _row(row)
    unread = [row for row in report.unread if row.get("matters", True)]
    idle = [row for row in report.unread if not row.get("matters", True)]
    yield from _join(unread, f"{_rows_word(len(unread))} of the input not read yet")
    fit = "fits" if len(idle) == 1 else "fit"
    yield from _join(idle, f"{_rows_word(len(idle))} ahead of the watermark {fit} no step")


def _join(rows: Sequence[Mapping[str, Any]], heading: str) -> Iterator[Line]:
    if rows:
        yield ((heading, "heading"),)
    for row in rows:
        yield ((f"  {moment(row['time'])}  {_values(row['row'])}", "fact"),)


def _rows(report: KeyReport) -> Iterator[Line]:
    if report.taken is None:
        return
    if not report.taken:
        yield (("no row taken yet", "heading"),)
        return
    of = f" of {report.taken}" if report.taken > len(report.rows) else ""
    yield ((f"the last {len(report.rows)}{of} rows taken", "heading"),)
    for row in report.rows:
        yield from _row(row)
    yield from _results(report.after)


def _row(row: Mapping[str, Any]) -> Iterator[Line]:
    yield ((f"  {moment(row['time'])}", "name"), (f"  {_values(row['row'])}", "fact"))
    yield from _results(
        output for output in row["results"] if output["kind"] == "timeout"
    )  # before the row was tested
    for attempt in row["attempts"]:
        match = f"match since {moment(attempt['start'])}" if "start" in attempt else "new match"
        yield ((f"    {match}: ", "label"), (attempt["outcome"], "fact"))
        for test in attempt["tests"]:
            yield from _test(test)
    yield from _results(output for output in row["results"] if output["kind"] != "timeout")


def _test(test: Mapping[str, Any]) -> Iterator[Line]:
    role = "" if test["role"] in ("where", "define", "not") else f" {test['role']}"
    parts = test["parts"] or [{"text": test["condition"] or "any row", "held": test["held"], "values": {}}]
    for part in parts:
        seen = {name: value for name, value in part["values"].items() if name != part["text"]}
        yield (
            ("      ", ""),
            _HELD[part["held"]],
            (f"  {test['step']}{role}: ", "name"),
            (part["text"], "fact"),
            (f"  ({_values(seen)})" if seen else "", "rail"),
        )


def _results(results: Iterable[Mapping[str, Any]]) -> Iterator[Line]:
    for result in results:
        role = "good" if result["kind"] == "match" else "warn"
        yield ((f"    -> {result['kind']}", role), (f"  {_values(result['values'])}", "fact"))


def moment(text: str) -> str:
    """Format a time without trailing zeros, in UTC."""
    return text.removesuffix(".000Z") + "Z" if text.endswith(".000Z") else text


def _values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"({_values(value)})"
    return "null" if value is None else moment(value) if isinstance(value, str) else str(value)


def _rows_word(count: int) -> str:
    return f"{count} row{'s' if count > 1 else ''}"


def _plural(count: int) -> str:
    return f"{count} rows wait" if count > 1 else "1 row waits"
