"""Row patterns: the regular expression in `PATTERN (...)`, as a tree.

pattern     = sequence { "|" sequence }
sequence    = { factor }                                   an empty one matches no rows: ()
factor      = primary [ quantifier [ "?" ] ]               "?" after a quantifier: as few as possible
quantifier  = "*" | "+" | "?" | "{n}" | "{n,}" | "{,m}" | "{n,m}"
primary     = variable | "(" pattern ")" | "{-" pattern "-}" | "^" | "$" | PERMUTE "(" pattern { "," pattern } ")"
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import factorial
from typing import Any, ClassVar, Literal

from headrace.sql.tokens import Reader, Token

MOST_PERMUTED = 6
MOST_INSTRUCTIONS = 20_000


@dataclass(frozen=True)
class Variable:
    """A row that satisfies the condition of a pattern variable."""

    name: str

    def plain(self) -> Any:
        return {"variable": self.name}


@dataclass(frozen=True)
class Anchor:
    """The start or the end of the partition; takes no row."""

    at: Literal["start", "end"]

    def plain(self) -> Any:
        return {"anchor": self.at}


@dataclass(frozen=True)
class _Several:
    parts: tuple[Pattern, ...]
    word: ClassVar[str]

    def plain(self) -> Any:
        return {self.word: [part.plain() for part in self.parts]}


class Sequence(_Several):
    """One after the other; of nothing, it is the empty pattern."""

    word = "sequence"


class Alternatives(_Several):
    """One of several, those on the left preferred."""

    word = "alternatives"


class Permutation(_Several):
    """All of them in any order, the written one preferred."""

    word = "permutation"


@dataclass(frozen=True)
class Repeat:
    """From `least` to `most` times (None: any number), as many as possible or, reluctant, as few."""

    of: Pattern
    least: int
    most: int | None
    greedy: bool = True

    def plain(self) -> Any:
        return {
            "repeat": self.of.plain(),
            "least": self.least,
            "most": self.most,
            "greedy": self.greedy,
        }


@dataclass(frozen=True)
class Exclusion:
    """Rows that belong to the match and are left out of what ALL ROWS PER MATCH shows."""

    of: Pattern

    def plain(self) -> Any:
        return {"exclusion": self.of.plain()}


Pattern = Variable | Anchor | Sequence | Alternatives | Permutation | Repeat | Exclusion


def variables_of(pattern: Pattern) -> Iterator[str]:
    """The names of a pattern's variables, in order, each as often as it stands there."""
    if isinstance(pattern, Variable):
        yield pattern.name
    for part in _parts(pattern):
        yield from variables_of(part)


def holds(pattern: Pattern, kind: type) -> bool:
    """Whether a part of the pattern is of this kind."""
    return isinstance(pattern, kind) or any(holds(part, kind) for part in _parts(pattern))


def endless(pattern: Pattern) -> bool:
    """Whether a match can have any number of rows."""
    if isinstance(pattern, Repeat) and pattern.most is None:
        return any(True for _ in variables_of(pattern))
    return any(endless(part) for part in _parts(pattern))


def canonical(token: Token) -> str:
    """A variable's name: as in all of SQL, upper case unless it is quoted."""
    return token.name.upper() if token.kind == "word" else token.text[1:-1]


def read_pattern(reader: Reader) -> Pattern:
    """Read what stands in the brackets of `PATTERN`, up to the end of the reader's tokens."""
    pattern = _alternatives(reader)
    if reader.now.kind != "end":
        reader.unexpected("a pattern variable, `|` or `)`", [])
    if instructions(pattern) > MOST_INSTRUCTIONS:
        reader.refuse(
            reader.tokens[0],
            f"the pattern is too large: it unfolds to {instructions(pattern):,} instructions",
            f"at most {MOST_INSTRUCTIONS:,} are run: take smaller counts, or `+` and a count(*) in DEFINE",
        )
    return pattern


def instructions(pattern: Pattern) -> int:
    """About how many instructions the pattern is when every count is unfolded."""
    inner = sum(instructions(part) for part in _parts(pattern))
    if isinstance(pattern, Repeat):
        return (inner + 1) * max(1, pattern.least if pattern.most is None else pattern.most)
    if isinstance(pattern, Permutation):
        return inner * factorial(len(pattern.parts))
    return inner + 2


def _parts(pattern: Pattern) -> tuple[Pattern, ...]:
    if isinstance(pattern, _Several):
        return pattern.parts
    return (pattern.of,) if isinstance(pattern, Repeat | Exclusion) else ()


def _alternatives(reader: Reader) -> Pattern:
    parts = [_sequence(reader)]
    while reader.now.says("|", "||"):
        sign = reader.take()
        parts.append(_sequence(reader))
        if sign.text == "||":
            reader.refuse(sign, "expected one `|` between alternatives, got `||`", "write A | B")
    return parts[0] if len(parts) == 1 else Alternatives(tuple(parts))


def _sequence(reader: Reader) -> Pattern:
    parts = []
    while reader.now.kind != "end" and not reader.now.says("|", "||", ")", ",", "-", "}"):
        parts.append(_factor(reader))
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def _factor(reader: Reader) -> Pattern:
    pattern = _primary(reader)
    bounds = _quantifier(reader)
    if bounds is None:
        return pattern
    greedy = not reader.takes("?")
    again = reader.now
    if again.says("*", "+", "?") or (again.says("{") and not reader.ahead().says("-")):
        reader.refuse(again, f"a second quantifier {again} follows the first", "put the part in ( )")
    return Repeat(pattern, *bounds, greedy)


def _quantifier(reader: Reader) -> tuple[int, int | None] | None:
    if reader.takes("*"):
        return 0, None
    if reader.takes("+"):
        return 1, None
    if reader.takes("?"):
        return 0, 1
    if reader.now.says("{") and not reader.ahead().says("-"):
        return _counted(reader)
    return None


def _counted(reader: Reader) -> tuple[int, int | None]:
    brace = reader.take()
    least = _number(reader)
    if reader.takes("}"):
        if least is None:
            reader.refuse(brace, "expected a number in `{}`", "write {2}, {2,}, {,5} or {2,5}")
        return least, _at_least_once(reader, brace, least)
    reader.need(",", hint="write {2}, {2,}, {,5} or {2,5}")
    most = _number(reader)
    reader.need("}", hint="write {2}, {2,}, {,5} or {2,5}")
    if most is not None and (least or 0) > most:
        reader.refuse(brace, f"expected {{least,most}}, got {{{least},{most}}}", f"write {{{most},{least}}}")
    return least or 0, most if most is None else _at_least_once(reader, brace, most)


def _at_least_once(reader: Reader, brace: Token, most: int) -> int:
    if not most:
        reader.refuse(brace, "expected a most of 1 or more, got 0", "leave the part out")
    return most


def _number(reader: Reader) -> int | None:
    if reader.now.kind != "number":
        return None
    token = reader.take()
    if not token.text.isdecimal():
        reader.refuse(token, f"expected a whole number, got {token}")
    return int(token.text)


def _primary(reader: Reader) -> Pattern:
    token = reader.now
    if reader.takes("^"):
        return Anchor("start")
    if reader.takes("$"):
        return Anchor("end")
    if token.says("PERMUTE") and reader.ahead().says("("):
        return _permutation(reader)
    if token.names or token.text.startswith('"'):
        reader.take()
        return Variable(canonical(token))
    if reader.takes("("):
        inner = _alternatives(reader)
        reader.need(")", hint="close the group")
        return inner
    if not reader.takes("{", "-"):
        reader.unexpected("a pattern variable, `(`, `{-`, `^`, `$` or PERMUTE", [])
    excluded = _alternatives(reader)
    reader.need("-", "}", hint="an exclusion is written {- A B -}")
    return Exclusion(excluded)


def _permutation(reader: Reader) -> Pattern:
    word = reader.take()
    reader.need("(")
    parts = [_alternatives(reader)]
    while reader.takes(","):
        parts.append(_alternatives(reader))
    reader.need(")", hint="close PERMUTE(A, B, ...)")
    if len(parts) > MOST_PERMUTED:
        reader.refuse(
            word,
            f"PERMUTE of {len(parts)} parts has {factorial(len(parts)):,} orders",
            f"permute at most {MOST_PERMUTED}, or write (A | B | ...){{n}} and count in DEFINE",
        )
    return parts[0] if len(parts) == 1 else Permutation(tuple(parts))
