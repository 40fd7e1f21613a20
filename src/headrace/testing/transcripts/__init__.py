"""Transcripts: tests of whole pipelines in virtual time."""
