"""Aggregate functions that can be called over the rows of a match."""

from __future__ import annotations

from collections.abc import Sequence

_WORDS = """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg
    bitmap_or_agg bool_and bool_or collect_list collect_set collect_union corr count count_if count_min_sketch
    covar_pop covar_samp every first_value histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kurtosis last_value listagg max max_by mean measure median min min_by mode percentile percentile_approx
    percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
    regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double
    tuple_union_agg_integer var_pop var_samp variance
"""
NAMES = frozenset(_WORDS.split())

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

_ONLY_COMPOSED = {name for name, _ in _COMPOSED} - NAMES


def is_aggregate(name: str) -> bool:
    """Return true for the name of an aggregate function.

    >>> is_aggregate("sum"), is_aggregate("map_agg"), is_aggregate("upper")
    (True, True, False)
    """
    return name in NAMES or name in OTHER_NAMES or name in _ONLY_COMPOSED


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
