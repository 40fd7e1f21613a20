"""A parser for `MATCH_RECOGNIZE`, with line and column in every error.

Reading order: `tokens`, `pattern` (the regular expression over rows), `values` and `expressions` (conditions
and measures), `sections` and `clause` (`MATCH_RECOGNIZE (...)`), `input_query` and `ctes` (its input),
`statement` (the enclosing query).
"""
