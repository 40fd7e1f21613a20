"""Numbers, durations and times as text: units, three significant digits."""

from __future__ import annotations

import json
import time
from collections.abc import Container, Mapping, Sequence
from datetime import UTC, datetime

from markupsafe import Markup

NOTHING = "\N{EN DASH}"
_SIZES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_DURATIONS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def number(value: float | None, unit: str = "") -> str:
    """Format a quantity with three significant digits.

    >>> number(12_412, "rows/s"), number(3), number(0.25), number(999_600), number(None) == NOTHING
    ('12.4 k rows/s', '3', '0.25', '1 M', True)
    >>> number(5_200_000, "B"), number(12, "B")
    ('5.2 MB', '12 B')
    """
    if value is None:
        return NOTHING
    rounded = float(f"{value:.3g}")
    size, prefix = next(((size, prefix) for size, prefix in _SIZES if abs(rounded) >= size), (1.0, ""))
    digits = f"{float(f'{rounded / size:.3g}'):g}"
    units = [prefix + unit] if unit == "B" else [prefix, unit]
    return " ".join(filter(None, [digits, *units]))


def times(factor: float) -> str:
    """Format a factor.

    >>> times(1.0), times(3.14159)
    ('1.0 x', '3.1 x')
    """
    return f"{factor:.1f} x"


def count(value: int | None) -> str:
    """Format a count: exact below ten thousand, with three digits above.

    >>> count(0), count(9_876), count(1_234_567)
    ('0', '9876', '1.23 M')
    """
    return str(value) if value is not None and abs(value) < 10_000 else number(value)


def counted(value: int, noun: str) -> str:
    """Format a count with its noun.

    >>> counted(1, "row"), counted(12_300, "row")
    ('1 row', '12.3 k rows')
    """
    if abs(value) < 10_000:
        return f"{value} {noun}{'' if value == 1 else 's'}"
    return number(value, f"{noun}s")


def milliseconds(value: float | None) -> str:
    """Format a latency.

    >>> milliseconds(18.2), milliseconds(4_210)
    ('18.2 ms', '4.21 s')
    """
    if value is None or value < 1000:
        return number(value, "ms" if value is not None else "")
    return duration(value / 1000)


def duration(seconds: float | None) -> str:
    """Format a duration by its largest unit, with the next one where it matters.

    >>> duration(0.25), duration(4.21), duration(75), duration(7_300), duration(200_000), duration(10_000_000)
    ('250 ms', '4.21 s', '1 min 15 s', '2 h 1 min', '2 d 7 h', '115 d')
    """
    if seconds is None:
        return NOTHING
    if seconds < 1:
        return number(max(0.0, seconds) * 1000, "ms")
    if seconds < 60:
        return number(seconds, "s")
    position = next(index for index, (size, _) in enumerate(_DURATIONS) if seconds >= size)
    (size, unit), (small, small_unit) = _DURATIONS[position], _DURATIONS[position + 1]
    whole, rest = divmod(int(seconds), size)
    exact = whole < 10 and rest // small > 0
    return f"{whole} {unit} {rest // small} {small_unit}" if exact else f"{whole} {unit}"


def age(moment: float | None, now: float | None = None) -> str:
    """Format the time since a moment.

    >>> age(100.0, now=160.0)
    '1 min'
    >>> age(100.0, now=108.3)
    '8 s'
    """
    if not moment:
        return NOTHING
    return duration(max(1, int((time.time() if now is None else now) - moment)))


def instant(moment: float | None) -> str:
    """Format a moment as ISO 8601 in UTC.

    >>> instant(0.5)
    '1970-01-01 00:00:00 UTC'
    """
    return NOTHING if moment is None else f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S} UTC"


def utc(text: str | None) -> str:
    """Format the text of a moment, as the driver reports it, in UTC with seconds.

    >>> utc("2026-03-02T09:41:20.173Z"), utc(None) == NOTHING
    ('2026-03-02 09:41:20 UTC', True)
    >>> utc("end")  # the watermark of a checkpoint after a drain
    'end'
    """
    return text if text == "end" else f"{text[:19].replace('T', ' ')} UTC" if text else NOTHING


def moment(at: float | None) -> Markup:
    """Return a moment as an element; a script of the pages adds the local time on hover.

    >>> print(moment(0.5).removesuffix("1970-01-01 00:00:00 UTC</time>"))
    <time datetime="1970-01-01T00:00:00Z" title="1970-01-01 00:00:00 UTC">
    """
    return _time(at, Markup("<time"), instant(at))


def ago(at: float | None) -> Markup:
    """Return the time since a moment, which a script keeps current, with the absolute time on hover."""
    return _time(at, Markup("<time data-ago"), f"{age(at)} ago")


def _time(at: float | None, tag: Markup, text: str) -> Markup:
    if not at:
        return Markup(NOTHING)
    absolute = instant(at)
    date = f"{absolute[:10]}T{absolute[11:19]}Z"
    return tag + Markup(' datetime="{}" title="{}">{}</time>').format(date, absolute, text)


def cell(value: object) -> str:
    """Format a value of a row; nested values as JSON.

    >>> cell("a"), cell(1.5), cell(True), cell({"start": 1}), cell(None) == NOTHING
    ('a', '1.5', 'true', '{"start": 1}', True)
    """
    if value is None:
        return NOTHING
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def sparkline(values: Sequence[float | None], width: int = 96, height: int = 24) -> str:
    """Return the path of a sparkline that starts at zero; gaps where there is no data.

    >>> sparkline([0, 1, None, 1], width=30, height=10)
    'M0 9L10 1M30 1'
    """
    top = max((value for value in values if value), default=1)
    path, pen_down = "", False
    for index, value in enumerate(values):
        if value is not None:
            x = index * width / max(1, len(values) - 1)
            path += f"{'L' if pen_down else 'M'}{x:.4g} {height - 1 - value / top * (height - 2):.3g}"
        pen_down = value is not None
    return path


def outline(values: Mapping[str, object], without: Container[str] = (), indent: str = "") -> str:
    """Format nested values as indented lines; empty ones and those named in `without` are left out.

    >>> print(outline({"key": 1, "matches": [{"from": "09:00", "rows": 2}], "none": []}, ("key",)))
    matches:
      from: 09:00
      rows: 2
    """
    lines = []
    for name, value in values.items():
        if name in without or value in (None, "", [], {}, ()):
            continue
        items = value if isinstance(value, list | tuple) else [value]
        if any(isinstance(item, Mapping) for item in items):
            nested = [outline(item, (), indent + "  ") for item in items if isinstance(item, Mapping)]
            lines += [f"{indent}{name}:", *filter(None, nested)]
        else:
            lines.append(f"{indent}{name}: {', '.join(map(str, items))}")
    return "\n".join(lines)
