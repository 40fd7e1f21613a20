"""Verbs have the options of the models that they construct: the same names, defaults and words."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import pytest

from headrace import detectors, triggers, windows
from headrace.lookups.declare import Lookup
from headrace.steps.grammar.declaration import Declaration
from headrace.steps.grammar.values import Length
from headrace.streams.rows import Stage
from headrace.streams.windowed import WindowedStream
from headrace.windows.triggers import Emission

VERBS: list[tuple[Callable[..., Any], type[Declaration]]] = [
    (Stage.lookup, Lookup),
    (WindowedStream.emit, Emission),
    (windows.tumbling, windows.Tumbling),
    (windows.sliding, windows.Sliding),
    (windows.session, windows.Session),
    (windows.global_window, windows.Global),
    (windows.count, windows.Count),
    (windows.delta, windows.Delta),
    (windows.punctuation, windows.Punctuation),
    (windows.landmark, windows.Landmark),
    (windows.trailing, windows.Trailing),
    (triggers.every, triggers.Every),
    (triggers.after_count, triggers.AfterCount),
    (triggers.after_watermark, triggers.AfterWatermark),
    (triggers.any_of, triggers.AnyOf),
    (triggers.all_of, triggers.AllOf),
    (triggers.in_sequence, triggers.InSequence),
    (triggers.repeatedly, triggers.Repeatedly),
    (triggers.or_finally, triggers.OrFinally),
    (detectors.threshold, detectors.Threshold),
    (detectors.rate_of_change, detectors.RateOfChange),
    (detectors.missing, detectors.Missing),
    (detectors.z_score, detectors.ZScore),
    (detectors.ewma, detectors.Ewma),
    (detectors.quantile, detectors.Quantile),
    (detectors.mad, detectors.Mad),
    (detectors.seasonal, detectors.Seasonal),
    (detectors.windowed_gaussian, detectors.WindowedGaussian),
    (detectors.half_space_trees, detectors.HalfSpaceTrees),
    (detectors.adwin, detectors.Adwin),
    (detectors.page_hinkley, detectors.PageHinkley),
    (detectors.multi_scale, detectors.MultiScale),
]
"""Verbs and their models."""

OLD = ("late_rows",)
"""Options in the spelling of 0.2 that documents have, and verbs do not."""

ANNOTATED_ONLY = dict.fromkeys(("Column", "DataFrame", "Pipeline", "Stream"), object)
"""Types that the modules of verbs import for annotations only."""


@pytest.mark.parametrize(("verb", "model"), VERBS, ids=lambda each: getattr(each, "__name__", ""))
def test_verb_has_the_options_of_its_model(verb: Callable[..., Any], model: type[Declaration]) -> None:
    options = {
        name: parameter
        for name, parameter in inspect.signature(verb).parameters.items()
        if name not in ("self", *model.internal)
    }
    hidden = {*model.internal, *(OLD if model is Emission else ())}
    fields = {name: field for name, field in model.__pydantic_fields__.items() if name not in hidden}
    assert list(options) == list(fields)
    assert [p.default is p.empty for p in options.values()] == [f.is_required() for f in fields.values()]


@pytest.mark.parametrize(("verb", "model"), VERBS, ids=lambda each: getattr(each, "__name__", ""))
def test_defaults_and_words_of_a_verb_are_those_of_its_model(
    verb: Callable[..., Any], model: type[Declaration]
) -> None:
    words = get_type_hints(inspect.unwrap(verb), {**vars(inspect.getmodule(verb)), **ANNOTATED_ONLY})
    for name, parameter in inspect.signature(verb).parameters.items():
        field = model.__pydantic_fields__.get(name)
        if field is None or field.is_required():
            continue
        if parameter.default != field.default:  # text for a duration
            assert Length.parse(parameter.default) == field.default, name
        if literals(field.annotation):
            assert literals(words[name]) == literals(field.annotation), name


def literals(kind: Any) -> set[str]:
    """Return the words of the literal types in a type."""
    words = {word for word in get_args(kind) if isinstance(word, str)}
    return words.union(*(literals(part) for part in get_args(kind) if not isinstance(part, str)))
