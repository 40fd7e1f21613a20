"""SQL beyond Spark's: `MATCH_RECOGNIZE`, read into declarations, with line and column in every error.

Reading order: `tokens`, `pattern` (the regular expression of rows), `values` and `expressions` (what conditions and measures
ask of a match), `clause` (all of `MATCH_RECOGNIZE (...)`), `inputs` (what it is over), `statement` (the query around it).
"""
