"""Parse row patterns, the regular expression in `PATTERN (...)`, into a tree.

pattern     = sequence { "|" sequence }
sequence    = { factor }                                   an empty one matches no rows: ()
factor      = primary [ quantifier [ "?" ] ]               "?" after a quantifier: as few as possible
quantifier  = "*" | "+" | "?" | "{n}" | "{n,}" | "{,m}" | "{n,m}"
primary     = variable | "(" pattern ")" | "{-" pattern "-}" | "^" | "$" | PERMUTE "(" pattern { "," pattern }
")"
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import factorial
from typing import Any, ClassVar, Literal

from headrace.sql.match_recognize.tokens import Token, TokenReader

MAX_PERMUTED = 6
MAX_INSTRUCTIONS = 20_000


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
    """Patterns in sequence; without parts, the empty pattern."""

    word = "sequence"


class Alternatives(_Several):
    """One of several patterns; earlier ones are preferred."""

    word = "alternatives"


class Permutation(_Several):
    """All parts in any order; the written order is preferred."""

    word = "permutation"


@dataclass(frozen=True)
class Repeat:
    """`least` to `most` repetitions (None: unbounded); greedy or reluctant."""

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
    """Rows of the match that ALL ROWS PER MATCH does not return."""

    of: Pattern

    def plain(self) -> Any:
        return {"exclusion": self.of.plain()}


Pattern = Variable | Anchor | Sequence | Alternatives | Permutation | Repeat | Exclusion


def variables_of(pattern: Pattern) -> Iterator[str]:
    """Yield the variables of a pattern in order, with repetitions."""
    if isinstance(pattern, Variable):
        yield pattern.name
    for part in _parts(pattern):
        yield from variables_of(part)


def contains(pattern: Pattern, kind: type) -> bool:
    """Return true if the pattern has a part of this kind."""
    return isinstance(pattern, kind) or any(contains(part, kind) for part in _parts(pattern))


def is_unbounded(pattern: Pattern) -> bool:
    """Return true if a match can have any number of rows."""
    if isinstance(pattern, Repeat) and pattern.most is None:
        return any(True for _ in variables_of(pattern))
    return any(is_unbounded(part) for part in _parts(pattern))


def canonical(token: Token) -> str:
    """Return the name of a variable: upper case unless it is quoted, as in SQL."""
    return token.name.upper() if token.kind == "word" else token.text[1:-1]


def read_pattern(reader: TokenReader) -> Pattern:
    """Parse the brackets of `PATTERN`."""
    pattern = _alternatives(reader)
    if reader.current.kind != "end":
        reader.fail_expected("a pattern variable, `|` or `)`", [])
    if instructions(pattern) > MAX_INSTRUCTIONS:
        reader.fail(
            reader.tokens[0],
            f"the pattern is too large: it expands to {instructions(pattern):,} instructions",
            f"the limit is {MAX_INSTRUCTIONS:,}: use smaller counts, or `+` and a count(*) in DEFINE",
        )
    return pattern


def instructions(pattern: Pattern) -> int:
    """Estimate the number of instructions after unrolling every count."""
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


def _alternatives(reader: TokenReader) -> Pattern:
    parts = [_sequence(reader)]
    while reader.current.matches("|", "||"):
        sign = reader.advance()
        parts.append(_sequence(reader))
        if sign.text == "||":
            reader.fail(sign, "expected one `|` between alternatives, got `||`", "write A | B")
    return parts[0] if len(parts) == 1 else Alternatives(tuple(parts))


def _sequence(reader: TokenReader) -> Pattern:
    parts = []
    while reader.current.kind != "end" and not reader.current.matches("|", "||", ")", ",", "-", "}"):
        parts.append(_factor(reader))
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def _factor(reader: TokenReader) -> Pattern:
    pattern = _primary(reader)
    bounds = _quantifier(reader)
    if bounds is None:
        return pattern
    greedy = not reader.accept("?")
    again = reader.current
    if again.matches("*", "+", "?") or (again.matches("{") and not reader.peek().matches("-")):
        reader.fail(again, f"a second quantifier {again} follows the first", "put the part in ( )")
    return Repeat(pattern, *bounds, greedy)


def _quantifier(reader: TokenReader) -> tuple[int, int | None] | None:
    if reader.accept("*"):
        return 0, None
    if reader.accept("+"):
        return 1, None
    if reader.accept("?"):
        return 0, 1
    if reader.current.matches("{") and not reader.peek().matches("-"):
        return _bounds(reader)
    return None


def _bounds(reader: TokenReader) -> tuple[int, int | None]:
    brace = reader.advance()
    least = _number(reader)
    if reader.accept("}"):
        if least is None:
            reader.fail(brace, "expected a number in `{}`", "write {2}, {2,}, {,5} or {2,5}")
        return least, _at_least_once(reader, brace, least)
    reader.expect(",", hint="write {2}, {2,}, {,5} or {2,5}")
    most = _number(reader)
    reader.expect("}", hint="write {2}, {2,}, {,5} or {2,5}")
    if most is not None and (least or 0) > most:
        reader.fail(brace, f"expected {{least,most}}, got {{{least},{most}}}", f"write {{{most},{least}}}")
    return least or 0, most if most is None else _at_least_once(reader, brace, most)


def _at_least_once(reader: TokenReader, brace: Token, most: int) -> int:
    if not most:
        reader.fail(brace, "expected an upper bound of 1 or more, got 0", "remove the part")
    return most


def _number(reader: TokenReader) -> int | None:
    if reader.current.kind != "number":
        return None
    token = reader.advance()
    if not token.text.isdecimal():
        reader.fail(token, f"expected a whole number, got {token}")
    return int(token.text)


def _primary(reader: TokenReader) -> Pattern:
    token = reader.current
    if reader.accept("^"):
        return Anchor("start")
    if reader.accept("$"):
        return Anchor("end")
    if token.matches("PERMUTE") and reader.peek().matches("("):
        return _permutation(reader)
    if token.names or token.text.startswith('"'):
        reader.advance()
        return Variable(canonical(token))
    if reader.accept("("):
        inner = _alternatives(reader)
        reader.expect(")", hint="close the group")
        return inner
    if not reader.accept("{", "-"):
        reader.fail_expected("a pattern variable, `(`, `{-`, `^`, `$` or PERMUTE", [])
    excluded = _alternatives(reader)
    reader.expect("-", "}", hint="an exclusion is written {- A B -}")
    return Exclusion(excluded)


def _permutation(reader: TokenReader) -> Pattern:
    word = reader.advance()
    reader.expect("(")
    parts = [_alternatives(reader)]
    while reader.accept(","):
        parts.append(_alternatives(reader))
    reader.expect(")", hint="close PERMUTE(A, B, ...)")
    if len(parts) > MAX_PERMUTED:
        reader.fail(
            word,
            f"PERMUTE of {len(parts)} parts has {factorial(len(parts)):,} orders",
            f"permute at most {MAX_PERMUTED}, or write (A | B | ...){{n}} and count in DEFINE",
        )
    return parts[0] if len(parts) == 1 else Permutation(tuple(parts))
