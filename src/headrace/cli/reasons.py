"""The answer of `headrace why` as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.engine.why import Why
    from headrace.plan.drawing import Line, Span

_HELD: dict[bool | None, Span] = {True: ("true ", "good"), False: ("false", "bad"), None: ("later", "warn")}


def lines_of(why: Why) -> Iterator[Line]:
    """What one step says."""
    yield from _heading(why)
    if not why.known:
        yield (("  it has had no row of this key", "warn"),)
    else:
        yield from _partials(why)
        yield from _waiting(why)
        yield from _rows(why)
    for note in why.notes:
        yield ((f"  note: {note}", "warn"),)
    yield ()


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


def _partials(why: Why) -> Iterator[Line]:
    if not why.partials:
        yield (("  no partial match", "heading"),)
        return
    count = len(why.partials)
    yield ((f"  {count} partial match{'es' if count > 1 else ''}", "heading"),)
    for partial in why.partials:
        yield from _partial(partial)


def _partial(partial: Mapping[str, Any]) -> Iterator[Line]:
    out = f", times out at {moment(partial['times_out'])}" if "times_out" in partial else ", never times out"
    yield ((f"    since {moment(partial['start'])}", "fact"), (out, "rail"))
    for row in partial["rows"]:
        taken = f"{row['step']}  " if row["step"] else ""
        yield ((f"      {taken}", "name"), (f"{moment(row['time'])}  {_values(row['row'])}", "fact"))
    if partial["complete"]:
        yield (("      complete; waits for a match that began earlier", "good"),)
        return
    if partial["for_time"]:
        yield (("      matches when its time is up", "label"),)
    yield from _awaited("waits for", partial["waits_for"], partial["strict"])
    yield from _awaited("ends with", partial["ends_with"], strict=False)


def _awaited(word: str, steps: Iterable[Mapping[str, Any]], strict: bool) -> Iterator[Line]:
    very_next = ", the very next row" if strict else ""
    for one in steps:
        condition = f": {one['condition']}" if one["condition"] else ": any row"
        yield ((f"      {word} ", "label"), (one["step"], "name"), (f"{condition}{very_next}", "fact"))


def _waiting(why: Why) -> Iterator[Line]:
    if why.waiting:
        yield ((f"  {_counted(len(why.waiting))} for the watermark; if it passed now:", "heading"),)
        for row in why.waiting:
            yield from _row(row)
    if why.unread:
        yield ((f"  {_rows_word(len(why.unread))} of the input not read yet", "heading"),)
        for row in why.unread:
            yield ((f"    {moment(row['time'])}  {_values(row['row'])}", "fact"),)


def _rows(why: Why) -> Iterator[Line]:
    if why.taken is None:
        return
    if not why.taken:
        yield (("  no row taken yet", "heading"),)
        return
    of = f" of {why.taken}" if why.taken > len(why.rows) else ""
    yield ((f"  the last {len(why.rows)}{of} rows taken", "heading"),)
    for row in why.rows:
        yield from _row(row)
    yield from _came(why.after)


def _row(row: Mapping[str, Any]) -> Iterator[Line]:
    yield ((f"    {moment(row['time'])}", "name"), (f"  {_values(row['row'])}", "fact"))
    for asked in row["asked"]:
        match = f"match since {moment(asked['start'])}" if "start" in asked else "new match"
        yield ((f"      {match}: ", "label"), (asked["outcome"], "fact"))
        for test in asked["tests"]:
            yield from _test(test)
    yield from _came(row["came"])


def _test(test: Mapping[str, Any]) -> Iterator[Line]:
    role = "" if test["role"] in ("where", "define", "not") else f" {test['role']}"
    parts = test["parts"] or [{"text": test["condition"] or "any row", "held": test["held"], "values": {}}]
    for part in parts:
        seen = {name: value for name, value in part["values"].items() if name != part["text"]}
        yield (
            ("        ", ""),
            _HELD[part["held"]],
            (f"  {test['step']}{role}: ", "name"),
            (part["text"], "fact"),
            (f"  ({_values(seen)})" if seen else "", "rail"),
        )


def _came(results: Iterable[Mapping[str, Any]]) -> Iterator[Line]:
    for result in results:
        role = "good" if result["kind"] == "match" else "warn"
        yield ((f"      -> {result['kind']}", role), (f"  {_values(result['values'])}", "fact"))


def moment(text: str) -> str:
    """A time without zeros that say nothing: everything is UTC."""
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


def _counted(count: int) -> str:
    return f"{count} rows wait" if count > 1 else "1 row waits"
