"""The matrix: a transcript for every kind of window, trigger, mode and disorder, its rows foretold by the model.

`python -m tests.support.matrix` writes tests/transcripts/matrix; `make matrix` also runs all of it through Spark and notes
what came of each cell for the page of the documentation.
"""
