"""The errors that Headrace raises.

    HeadraceError
    ├── SetupError            Java, a jar or the kernel is missing on this machine
    ├── OptionError           an option of a connector, a format or the command line is invalid
    │   ├── MovedVerbError    a verb of 0.2 with another name
    │   ├── MissingOutputError  a side output that the step does not have
    │   ├── NoEventTimeError  a verb that needs rows with a time
    │   └── TableInputError   a verb of streams on a table
    ├── SchemaError           a schema cannot be parsed, or does not fit the rows
    ├── DurationError         "5 minuets"
    ├── LoadError             the file of a pipeline is missing, or fails while it is loaded
    ├── DocumentError         a YAML document is invalid; with file, line and column
    ├── PlanError             the pipeline cannot run; has all problems
    ├── AggregateError        an aggregate in Python failed
    ├── UserCodeError         a function or processor of the user failed, and `on_error="fail"`
    ├── SourceError           a source cannot be read
    │   └── DecodeError       a record cannot be decoded, and `on_error="fail"`
    ├── DamagedFileError      a file of a checkpoint or a write-ahead log is damaged or missing
    ├── DeliveryError         an epoch cannot be written
    │   └── FencedError       a newer run of the same pipeline has fenced the sink
    └── TranscriptError       a test script is wrong (a failed expectation is a result, not an error)

An error has a location, a problem and a hint.
"""

from __future__ import annotations

import difflib
import os
import re
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, get_args


class Location(str):
    """A place in a document, which is also its text: `file:line:column`, then a label of what is there.

    >>> location = Location("p.yaml", 12, 9)
    >>> location, location.line, location.labelled("`totals`")
    ('p.yaml:12:9', 12, 'p.yaml:12:9: `totals`')
    """

    file: str
    line: int
    column: int
    label: str
    _text_at: int | None

    def __new__(
        cls, file: str, line: int, column: int, label: str = "", text_at: int | None = None
    ) -> Location:
        """Build a location.

        Args:
            file: the name of the document.
            line: counted from 1.
            column: counted from 1; 0 in Python, where only the line is known.
            label: what is there, such as the name of a step.
            text_at: the columns between the location and the first character of the text that begins there,
                such as 1 for a quote; None if positions in the text are not positions in the document.
        """
        text = f"{file}:{line}:{column}" if column else f"{file}:{line}"
        if file.startswith(CELL) and not column:
            text = f"{file}, line {line}"
        self = super().__new__(cls, f"{text}: {label}" if label else text)
        self.file, self.line, self.column, self.label = file, line, column, label
        self._text_at = text_at
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.file, self.line, self.column, self.label, self._text_at

    def labelled(self, label: str) -> Location:
        """Return the location with another label."""
        return Location(self.file, self.line, self.column, label, self._text_at)

    def inside(self, offset: int | None) -> Location:
        """Return the location of a character of the text that begins here; this one if it is unknown.

        >>> Location("p.yaml", 12, 9, text_at=1).inside(4), Location("p.yaml", 12, 9).inside(4)
        ('p.yaml:12:14', 'p.yaml:12:9')
        """
        if offset is None or self._text_at is None:
            return self
        return Location(self.file, self.line, self.column + self._text_at + offset, self.label)

    @classmethod
    def parse(cls, text: str) -> Location | None:
        """Return the location at the beginning of a text; None if there is none.

        >>> location = Location.parse("p.yaml:12:9: `totals`")
        >>> (location.file, location.line, location.column, location.label) if location else None
        ('p.yaml', 12, 9, '`totals`')
        """
        if isinstance(text, Location):
            return text
        parts = _LOCATION.match(text)
        return cls(parts[1], int(parts[2]), int(parts[3]), parts[4] or "") if parts else None


CELL = "cell ["
"""The beginning of the name of a notebook cell, `cell [3]`."""
_LOCATION = re.compile(r"(.*?):(\d{1,9}):(\d{1,9})(?:: (.*))?$", re.DOTALL)


@dataclass(frozen=True)
class Problem:
    """A problem: its location, what is wrong, and a hint."""

    where: str
    """A `Location` if the problem is in a document."""
    what: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class HeadraceError(Exception):
    """The root of all errors: location, problem and hint.

    >>> error = HeadraceError("unknown column `amout`", where="totals", hint="did you mean amount?")
    >>> error.where, error.what, error.hint
    ('totals', 'unknown column `amout`', 'did you mean amount?')
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.problem = Problem(where, what, hint)
        self.problems: tuple[Problem, ...] = (self.problem,)
        super().__init__(str(self.problem))

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the error of a problem."""
        return cls(problem.what, where=problem.where, hint=problem.hint)

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a notebook shows: the error, with its traceback only on request."""
        if wants_traceback():
            return traceback.format_exception(self)
        return [f"{type(self).__name__}: {self}"]

    @property
    def where(self) -> str:
        return self.problem.where

    @property
    def what(self) -> str:
        return self.problem.what

    @property
    def hint(self) -> str:
        return self.problem.hint


class SetupError(HeadraceError):
    """The machine lacks something that Headrace needs."""


class OptionError(HeadraceError):
    """An option is unknown, missing or out of range."""


class SchemaError(HeadraceError):
    """A schema is invalid, or does not fit the rows."""


class DurationError(HeadraceError):
    """A duration cannot be parsed."""


class LoadError(HeadraceError):
    """The file of a pipeline is missing, has no pipeline, or fails while it is loaded."""


class _ProblemsError(HeadraceError):
    """The base of errors that collect all problems."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class DocumentError(_ProblemsError):
    """A document is invalid; `problems` has every problem with its `file:line:column`."""


class PlanError(_ProblemsError):
    """The pipeline cannot run; `problems` has every reason."""


class AggregateError(HeadraceError):
    """An aggregate in Python failed: it raised, or returned a result of another type than declared."""


class UserCodeError(HeadraceError):
    """User code raised or returned a wrong value, and the step has `on_error="fail"`."""


class ExpectationError(UserCodeError):
    """A row violates a rule of an expectation that has `on_fail="fail"`."""


class SourceError(HeadraceError):
    """A source cannot be opened or read."""


class DecodeError(SourceError):
    """A record cannot be decoded, and the source has `on_error="fail"`."""


class DamagedFileError(HeadraceError):
    """A file that a run wrote and reads again is damaged or missing; reading on would change or lose rows."""


class DeliveryError(HeadraceError):
    """Rows cannot be written to a sink; the epoch is not committed and is replayed."""


class FencedError(DeliveryError):
    """A newer run has fenced the sink; this one must stop without writing."""


class TranscriptError(HeadraceError):
    """A test script cannot be run."""


class MovedVerbError(OptionError, AttributeError):
    """A verb of version 0.2 that has another name; the hint has the new one."""


class MissingOutputError(OptionError, AttributeError):
    """A side output that a step does not have.

    >>> from headrace import Pipeline, connect
    >>> Pipeline("p").read("tx", connect.memory(), schema="card string").where("card > 'a'").faults
    Traceback (most recent call last):
    headrace.errors.MissingOutputError: `tx:where`: `faults` is not an output
      hint: it is an output of match_rules: read it from that step, before any other verb
    """


class NoEventTimeError(OptionError, AttributeError):
    """A verb of timed streams is called on rows without a time.

    >>> from headrace import Pipeline, connect
    >>> Pipeline("p").read("tx", connect.memory(), schema="card string").key_by("card").window
    Traceback (most recent call last):
    headrace.errors.NoEventTimeError: `tx`: `window` needs rows with a time
      hint: declare it first: .event_time("ts"), .ingestion_time() or .processing_time()
    """


class TableInputError(OptionError, AttributeError):
    """A verb of streams is called on a table.

    >>> from headrace import Pipeline, connect
    >>> scores = Pipeline("p").read("scores", connect.memory(), schema="game string, score int")
    >>> scores.key_by("game").top_n("best", n=1, order_by="score desc").key_by("game").match
    Traceback (most recent call last):
    headrace.errors.TableInputError: `best`: match does not accept a table as input, and `best` is a table
      hint: read the stream behind the table; aggregate, window, top_n and join accept tables
    """


def without_passwords(text: str) -> str:
    """Mask passwords in URLs and connection strings, and tokens in queries of URLs.

    >>> without_passwords("postgresql://ada:secret@db/shop"), without_passwords("host=db password='a b'")
    ('postgresql://ada:***@db/shop', 'host=db password=***')
    >>> without_passwords("https://host/items?api_key=secret&page=1")
    'https://host/items?api_key=***&page=1'
    """
    hidden = re.sub(r"(://[^:/@\s]*):[^@/\s]+@", r"\1:***@", text)
    hidden = re.sub(r"(?i)([?&][\w.-]*(?:token|secret|(?:api|access)[._-]?key)=)[^\s&'\"]+", r"\1***", hidden)
    return re.sub(r"(password\s*=\s*)('[^']*'|[^\s&']+)", r"\1***", hidden)


_MOST_LISTED = 100
"""The number of known words in a hint."""
_LONGEST_WORD = 100


def validation_message(error: Any) -> str:
    """Return the message of an item of pydantic's `ValidationError.errors()`, without its prefixes.

    >>> validation_message({"type": "value_error", "msg": "Value error, expected a name"})
    'expected a name'
    >>> validation_message({"type": "less_than_equal", "msg": "Input should be ...", "ctx": {"le": 9}})
    'expected a number of at most 9'
    """
    context = error.get("ctx", {})
    for limit, words in _LIMITS.items():
        if limit in context:
            return f"expected a number {words} {context[limit]}"
    message = str(error["msg"])
    for prefix in ("Value error, ", "Assertion failed, "):
        message = message.removeprefix(prefix)
    return message[:1].lower() + message[1:]


_LIMITS = {"ge": "of at least", "gt": "above", "le": "of at most", "lt": "below"}
"""Pydantic's limits of numbers, in words."""


def wants_traceback() -> bool:
    """True if the environment requests tracebacks with internal frames (`HEADRACE_TRACEBACK`)."""
    return os.environ.get("HEADRACE_TRACEBACK", "") not in ("", "0")


def clean_traceback(error: BaseException) -> BaseException:
    """Return an error without internal frames, to be raised by a function of the public API."""
    return error if wants_traceback() else error.with_traceback(None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the nearest known word and all others.

    >>> did_you_mean("tumblin", ["tumbling", "sliding"])
    'did you mean `tumbling`? Known: sliding, tumbling'
    """
    names = sorted(set(known))
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    listing = f"Known: {', '.join(names[:_MOST_LISTED])}{more}" if names else "None is defined."
    near = nearest(word, names)
    return f"did you mean `{near}`? {listing}" if near else listing


def require_choice(value: object, choices: Any, option: str, where: str) -> None:
    """Reject a value that is not one of the choices of an option.

    Args:
        value: the value of the option.
        choices: a `Literal` type.
        option: the name of the option.
        where: the location of the option.

    Raises:
        OptionError: invalid value; the hint has the nearest choice.
    """
    words = get_args(choices)
    if value not in words:
        what = f"expected {option} to be {' or '.join(words)}, got {value!r}"
        raise OptionError(what, where=where, hint=did_you_mean(str(value), words))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most similar to `word`, or else its last part; None without one.

    >>> nearest("tumblin", ["tumbling", "sliding"]), nearest("bootstrap_servers", ["servers", "topic"])
    ('tumbling', 'servers')
    """
    if len(word) > _LONGEST_WORD:  # the comparison takes quadratic time
        return None
    names = {name.lower(): name for name in known if len(name) <= _LONGEST_WORD}
    near = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.6)
    last = word.lower().rpartition("_")
    return names[near[0]] if near else names.get(last[2]) if last[1] else None
