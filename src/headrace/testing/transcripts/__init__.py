"""Transcripts: whole pipelines in virtual time."""
