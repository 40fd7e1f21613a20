"""The matrix of patterns: a transcript for every contiguity, quantifier, skip and disorder, its rows foretold by the model.

`python -m tests.support.pattern_matrix` writes tests/transcripts/pattern_matrix, and runs it if told to; `make matrix`
does both.
"""
