"""Transcripts: tests of whole pipelines in virtual time."""

SUFFIXES = (".transcript.yaml", ".transcript.yml")
"""The names of transcripts that pytest and `headrace test` find by themselves."""
