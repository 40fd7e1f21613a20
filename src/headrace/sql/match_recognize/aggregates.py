"""Aggregate functions that can be called over the rows of a match."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql.functions import spark_functions

_NOT_OVER_A_MATCH = frozenset(["first", "last", "grouping", "grouping_id"])
"""Aggregates of Spark that are navigations in `MATCH_RECOGNIZE`, or need GROUP BY."""

OTHER_NAMES = {
    "approx_distinct": "approx_count_distinct",
    "arbitrary": "any_value",
    "bitwise_and_agg": "bit_and",
    "bitwise_or_agg": "bit_or",
    "bitwise_xor_agg": "bit_xor",
}
"""Names that other engines use."""

_KEYS = "array_distinct(collect_list({0}){kept})"
_OF_KEY = "filter(collect_list(struct({0} as k, {1} as v)){kept}, __e -> __e.k = __k)"
_KEYS_OF_MAPS = "array_distinct(flatten(collect_list(map_keys({0})){kept}))"
_OF_KEY_IN_MAPS = "filter(flatten(collect_list(map_entries({0})){kept}), __e -> __e.key = __k)"

_COMPOSED = {
    ("map_agg", 2): f"map_from_arrays({_KEYS}, transform({_KEYS}, __k -> element_at({_OF_KEY}, 1).v))",
    (
        "multimap_agg",
        2,
    ): f"map_from_arrays({_KEYS}, transform({_KEYS}, __k -> transform({_OF_KEY}, __p -> __p.v)))",
    ("map_union", 1): f"map_from_arrays({_KEYS_OF_MAPS}, "
    f"transform({_KEYS_OF_MAPS}, __k -> element_at({_OF_KEY_IN_MAPS}, 1).value))",
    ("min", 2): "slice(sort_array(collect_list({0}){kept}), 1, {1})",
    ("max", 2): "slice(sort_array(collect_list({0}){kept}, false), 1, {1})",
}
"""Aggregates of other engines, composed of Spark's. The first value of a key wins; nulls are ignored."""

_OF_OTHER_ENGINES = {*OTHER_NAMES, *(name for name, _ in _COMPOSED)}


def is_aggregate(name: str) -> bool:
    """Return true for the lower-case name of an aggregate function.

    >>> is_aggregate("sum"), is_aggregate("map_agg"), is_aggregate("upper"), is_aggregate("first")
    (True, True, False, False)
    """
    in_spark = spark_functions().get(name, False) and name not in _NOT_OVER_A_MATCH
    return in_spark or name in _OF_OTHER_ENGINES


def compose_call(name: str, arguments: Sequence[str], kept: str = "") -> str | None:
    """Write a call that Spark lacks with Spark's functions; None if Spark has the function.

    The result over no rows is null, as for every aggregate except a count.

    >>> compose_call("max", ["price", "3"])
    'if(count(price) = 0, null, slice(sort_array(collect_list(price), false), 1, 3))'
    """
    template = _COMPOSED.get((name, len(arguments)))
    if template is None:
        return None
    return f"if(count({{0}}){{kept}} = 0, null, {template})".format(*arguments, kept=kept)
