"""The steps of a pattern in documents.

A list of one-key mappings from the name of a step to its condition, or to a mapping with the verb
(contiguity) and the quantifiers of the step. The value of the verb is a condition, a list of steps (a group)
or `{either: [...]}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

from annotated_types import Ge, MinLen
from pydantic import AfterValidator, Discriminator, Field, Tag, TypeAdapter
from pydantic.json_schema import JsonSchemaValue

from headrace.durations import text as duration_text
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Contiguity, Either, Element, Group, Times, Where
from headrace.steps.expressions import sql_text
from headrace.steps.grammar.model import DocumentModel, Written
from headrace.steps.grammar.problems import invalid, raise_at
from headrace.steps.grammar.values import Condition, Expected, Flag, Length, Text

VERBS = tuple(word for word in get_args(Contiguity) if word != "first")
_TIMES = "such as times: 3, times: {from: 2, to: 4} or, without an upper bound, times: {from: 2}"
STEPS_EXAMPLE = "such as steps: [{small: amount < 1}, {large: {followed_by: amount > 500}}]"
Occurrences = Annotated[int, Ge(0), Expected("a number of rows", _TIMES)]


class TimesValue(DocumentModel):
    """The number of times that a step occurs."""

    label = "times"
    example = _TIMES
    forms: ClassVar[tuple[JsonSchemaValue, ...]] = ({"type": "integer", "minimum": 1},)
    least: Occurrences = Field(alias="from")
    most: Occurrences | None = Field(default=None, alias="to")

    @classmethod
    def prepare(cls, value: Any) -> dict[str, Any]:
        """Accept a number for both bounds."""
        if isinstance(value, Mapping):
            return dict(value)
        if str(value) == "0":
            raise invalid("expected 1 row or more, got 0", _TIMES)
        return {"from": value, "to": value}

    def check(self) -> None:
        if self.most is not None and (self.most < self.least or self.most == 0):
            what = f"expected `to` of {max(self.least, 1)} or more, got {self.most}"
            raise_at((), invalid(what, "omit `to` for no upper bound"))

    def shorten(self, data: dict[str, Any]) -> Any:
        """Return one number if both bounds are equal."""
        return self.least if self.least == self.most else data


class StepDetails(DocumentModel):
    """A step of a pattern: its contiguity, its condition and its quantifiers."""

    label = "a step of the pattern"
    example = STEPS_EXAMPLE
    short = "where"
    where: Body | None = Field(default=None, description="The condition of the first step")
    next: Body | None = None
    followed_by: Body | None = None
    followed_by_any: Body | None = None
    not_next: Body | None = None
    not_followed_by: Body | None = None
    times: TimesValue | None = None
    one_or_more: Flag = False
    optional: Flag = False
    greedy: Flag = False
    consecutive: Flag = False
    combinations: Flag = False
    until: Condition | None = None
    gap: Length | None = None

    @property
    def verbs(self) -> list[str]:
        """The keys with a condition."""
        return [word for word in ("where", *VERBS) if word in self.model_fields_set]

    def check(self) -> None:
        for verb in self.verbs[1:]:
            raise_at((verb,), invalid(f"expected one verb, got `{self.verbs[0]}` and `{verb}`", "remove one"))
        if self.one_or_more and self.times is not None:
            raise_at(
                ("times",), invalid("`times` conflicts with `one_or_more`", "one_or_more is times: {from: 1}")
            )
        if self.consecutive and self.combinations:
            raise_at(("combinations",), invalid("`combinations` conflicts with `consecutive`", "remove one"))

    def build(self, name: str) -> Element:
        """Return the element of the pattern."""
        [verb] = self.verbs or ["where"]
        times = Times(self.times.least, self.times.most) if self.times is not None else None
        repeats = "consecutive" if self.consecutive else "combinations" if self.combinations else "relaxed"
        return Element(
            name,
            "first" if verb == "where" else verb,  # type: ignore[arg-type]
            _body(getattr(self, verb)),
            Times(1, None) if self.one_or_more else times,
            self.optional,
            self.greedy,
            repeats,  # type: ignore[arg-type]
            self.until,
            self.gap,
        )


def _require_one_step(step: dict[str, StepDetails]) -> dict[str, StepDetails]:
    if len(step) != 1:
        raise invalid(f"expected one step, got the keys {', '.join(step)}", STEPS_EXAMPLE)
    return step


def _require_verbs(steps: tuple[dict[str, StepDetails], ...]) -> tuple[dict[str, StepDetails], ...]:
    """Require a verb of every step except the first."""
    for place, step in enumerate(steps):
        [(name, details)] = step.items()
        verb = next(iter(details.verbs), "where")
        if place == 0 and verb != "where":
            what, hint = f"`{verb}` cannot begin a pattern", "the first step has `where`"
            raise_at((place, name, verb), invalid(what, hint))
        if place > 0 and verb == "where":
            hint = f"such as {{{name}: {{followed_by: ...}}}}; verbs: {', '.join(VERBS)}"
            what = f"`{name}` has no verb that states how it follows the previous step"
            raise_at((place, name, verb), invalid(what, hint))
    return steps


def _kind_of_body(value: Any) -> str:
    if value is True:
        return "any_row"
    if isinstance(value, list | tuple):
        return "steps"
    return "either" if isinstance(value, Mapping | EitherValue) else "condition"


PatternStep = Annotated[
    dict[Text, StepDetails],
    AfterValidator(_require_one_step),
    Expected("a step's name and its condition", STEPS_EXAMPLE),
    Field(json_schema_extra={"minProperties": 1, "maxProperties": 1}),
]
PatternSteps = Annotated[
    tuple[PatternStep, ...],
    MinLen(1),
    AfterValidator(_require_verbs),
    Expected("a list of steps", STEPS_EXAMPLE),
]
Alternative = Annotated[
    Annotated[PatternStep, Tag("step")] | Annotated[PatternSteps, Tag("steps")],
    Discriminator(lambda value: "steps" if isinstance(value, list | tuple) else "step"),
]
"""A step, or a list of steps."""


class EitherValue(DocumentModel):
    """Alternatives, of which one occurs."""

    label = "the alternatives"
    example = "such as {either: [{a: x = 1}, {b: x = 2}]}"
    either: Annotated[tuple[Alternative, ...], MinLen(2), Expected("two or more alternatives", example)]

    @property
    def parts(self) -> list[tuple[dict[str, StepDetails], ...]]:
        """The steps of each alternative."""
        return [part if isinstance(part, tuple) else (part,) for part in self.either]

    def check(self) -> None:
        for part in self.parts:
            _require_verbs(part)


Body = Annotated[
    Annotated[Condition, Tag("condition")]
    | Annotated[Literal[True], Tag("any_row")]
    | Annotated[PatternSteps, Tag("steps")]
    | Annotated[EitherValue, Tag("either")],
    Discriminator(_kind_of_body),
]
StepDetails.model_rebuild()


def _body(value: Any) -> Where | Group | Either:
    if isinstance(value, EitherValue):
        return Either(tuple(map(_build, value.parts)))
    if isinstance(value, tuple):
        return Group(_build(value))
    return Where(None if value is True else value)


def _build(steps: tuple[dict[str, StepDetails], ...]) -> tuple[Element, ...]:
    return tuple(details.build(name) for step in steps for name, details in step.items())


_STEPS_ADAPTER = TypeAdapter[Any](PatternSteps)


def _steps_document(pattern: Pattern) -> Any:
    steps = _STEPS_ADAPTER.validate_python(_steps(pattern.elements))
    return _STEPS_ADAPTER.dump_python(steps, by_alias=True, exclude_unset=True)


def _steps(elements: tuple[Element, ...]) -> list[dict[str, Any]]:
    return [{element.name: _details(element)} for element in elements]


def _details(element: Element) -> dict[str, Any]:
    verb = "where" if element.contiguity == "first" else element.contiguity
    return {verb: _plain_body(element.body), **_quantifiers(element)}


def _plain_body(body: Where | Group | Either) -> Any:
    match body:
        case Group(elements):
            return _steps(elements)
        case Either(alternatives):
            parts = map(_steps, alternatives)
            return {"either": [part[0] if len(part) == 1 else part for part in parts]}
        case Where(condition):
            return True if condition is None else sql_text(condition)


def _quantifiers(element: Element) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    times = element.times
    if times is not None and (times.least, times.most) == (1, None):
        plain["one_or_more"] = True
    elif times is not None:
        plain["times"] = {"from": times.least, **({} if times.most is None else {"to": times.most})}
    plain |= {word: True for word in ("optional", "greedy") if getattr(element, word)}
    if element.repeats != "relaxed":
        plain[element.repeats] = True
    if element.until is not None:
        plain["until"] = sql_text(element.until)
    if element.gap is not None:
        plain["gap"] = duration_text(element.gap)
    return plain


PatternValue = Annotated[
    Pattern, Written(PatternSteps, lambda steps: Pattern(_build(steps)), _steps_document)
]
"""A pattern, written as the list of its steps."""
