"""Verbs have the options of the models that they construct: the same names, defaults and words."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import pytest

import headrace as h
from headrace import detectors, triggers, windows
from headrace.joins.declare import AsOfJoin, IntervalJoin, TableJoin, WindowJoin
from headrace.lookups.declare import Lookup
from headrace.steps.code.function_models import FunctionOptions, MapOptions, OutputOptions
from headrace.steps.code.process import ProcessOptions
from headrace.steps.grammar.declaration import Declaration
from headrace.steps.grammar.model import Grammar
from headrace.steps.grammar.values import Length
from headrace.steps.patterns.match import MatchOptions
from headrace.steps.patterns.match_rules import MatchRulesOptions
from headrace.steps.rows.event_time import EventTimeOptions
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.tables.latest import Latest
from headrace.steps.tables.top_n import TopN
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

DOCUMENTED: list[tuple[Callable[..., Any], type[Grammar]]] = [
    (h.Stream.map, MapOptions),
    (h.Stream.flat_map, OutputOptions),
    (h.Stream.map_batches, OutputOptions),
    (h.Stream.filter, FunctionOptions),
    (h.Stream.event_time, EventTimeOptions),
    (h.Stream.distinct, Distinct),
    (h.Stream.join_table, TableJoin),
    (h.TimedStream.join, IntervalJoin),
    (h.TimedStream.join_as_of, AsOfJoin),
    (h.WindowedStream.join_window, WindowJoin),
    (h.KeyedStream.latest, Latest),
    (h.KeyedStream.top_n, TopN),
    (h.KeyedStream.process, ProcessOptions),
    (h.TimedKeyedStream.match, MatchOptions),
    (h.TimedKeyedStream.match_rules, MatchRulesOptions),
]
"""Verbs, and the options of their steps in documents, whose keys or positions differ."""

POSITIONAL = {"condition", "f", "name", "pattern", "processor", "right", "step_name"}
"""Parameters that a document has as the name of the step, its input or the value of the key."""
INPUTS = {"python", "steps", "with"}
"""Their keys in documents."""
WRITTEN = {
    ("join_table", "at"): "arrival",  # absent in documents of 0.2
    ("match", "within"): None,
    ("match", "skip"): "past_last",
    ("event_time", "out_of_order"): "0 seconds",
}
"""Defaults of verbs that are written in another form than the values of the models."""

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


@pytest.mark.parametrize(("verb", "model"), DOCUMENTED, ids=lambda each: getattr(each, "__name__", ""))
def test_verb_has_the_options_of_its_step_in_documents(
    verb: Callable[..., Any], model: type[Grammar]
) -> None:
    parameters = {name: each for name, each in inspect.signature(verb).parameters.items() if name != "self"}
    fields = {key: model.__pydantic_fields__[name] for key, name in model.field_names().items()}
    assert set(parameters) - POSITIONAL == set(fields) - INPUTS
    for name in set(parameters) & set(fields):
        default = parameters[name].default
        if (verb.__name__, name) in WRITTEN:
            assert default == WRITTEN[verb.__name__, name]
        elif inspect.Parameter.empty is not default and not fields[name].is_required():
            assert default in (fields[name].default, fields[name].default or None), name
